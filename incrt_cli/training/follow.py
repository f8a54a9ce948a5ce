"""All ranks but the first: they train along, and write and say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from incrt_cli.config.schema import Config
from incrt_cli.errors import DivergedError
from incrt_cli.training.checkpoint import Keeper, restore, resumable
from incrt_cli.training.interruption import Requests, StoppedError, listening
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import prepare
from incrt_cli.training.progress import Silent
from incrt_cli.training.ranks import PeerError, Ranks


class Plan(NamedTuple):
    """What the first rank is about to train: in which folder, and from which checkpoint's state, if any."""

    run: Path
    config: Config
    state: Mapping[str, Any] | None


@dataclass(frozen=True)
class _Unwritten:
    """Stands for the run folder, which is the first rank's."""

    path: Path

    def append_event(self, event: Mapping[str, Any]) -> None:
        pass

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        pass

    def save_checkpoint(self, step: int, state: Mapping[str, Any], keep: int, good: int) -> None:
        pass


def follow(ranks: Ranks, signals: bool = False) -> None:
    """Take part in the run that the first rank begins or resumes, up to its last step.

    Raises PeerError, and UserError for what this process alone cannot use; where all stop for the same reason
    the error is without a message, since the first rank has it.
    """
    plan = _plan(ranks)
    if plan is None:
        return
    prepared = prepare(plan.config, Silent().say, calibrate=plan.state is None, ranks=ranks)
    run = _Unwritten(plan.run)
    loop = Loop(prepared, run, Silent())
    if plan.state is not None:
        restore(prepared, loop, plan.state)
    try:
        with resumable(run.path), listening() if signals else nullcontext(Requests()) as requests:
            loop.run(after_step=Keeper(run, prepared, loop, {}, requests, Silent().say).after_step)
    except DivergedError as error:
        ranks.wait()  # torchrun ends all when one has ended, and the first is still writing
        raise DivergedError from error
    except StoppedError as error:
        raise StoppedError from error


def _plan(ranks: Ranks) -> Plan | None:
    """What the first rank is about to train; None where it has nothing to do."""
    try:
        plan: Plan | None = ranks.share()
    except PeerError as error:
        raise PeerError from error  # before there is a run it has said itself what is wrong
    return plan
