"""What an engine does: run jobs wherever it likes, and tell how each one ended."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from incrt_cli.config.schema import Config
from incrt_cli.controls.folders import differences, is_finished, make_room
from incrt_cli.errors import UserError
from incrt_cli.rundir import alone_in, find_checkpoint, read_run

# Trains a config in a folder, or goes on there where the flag says so. It goes to other processes by its
# name, so it stands at the top of a module that they can import.
Train = Callable[[Config, Path, bool], object]


@dataclass(frozen=True)
class Job:
    """A cell to be trained: its name, its config, and its absolute run folder."""

    name: str
    config: Config
    folder: Path


@dataclass(frozen=True)
class Ended:
    """How a job ended: well, or with `error`, and `trace` then is where it came from."""

    error: Exception | None = None
    trace: str = ""

    def explained(self) -> Exception | None:
        """The error, with the other process's traceback as its cause."""
        if self.error is not None and self.trace:
            self.error.__cause__ = _ThereError(self.trace)
        return self.error


class _ThereError(Exception):
    """Carries a traceback of another process as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


Ends = Generator[tuple[Job, Ended], None, None]


class Engine(Protocol):
    """Runs jobs, each in a process of its own, so that none can take another one down with it."""

    def run(self, jobs: Sequence[Job], train: Train) -> Ends:
        """Every job once, as it ends. Closed early or interrupted, it stops those that are running."""


def attempt(job: Job, train: Train) -> Ended:
    """Run a job in this process; an error becomes a value that can be sent to another."""
    try:
        _run(job, train)
    except KeyboardInterrupt:
        return Ended(UserError("interrupted"))
    except Exception as error:
        return Ended(_portable(error), traceback.format_exc())
    return Ended()


def _run(job: Job, train: Train) -> None:
    """From the newest intact checkpoint of the same config where there is one, else anew."""
    run = read_run(job.folder)
    if is_finished(job.config, job.folder):
        return  # by a first attempt that the engine lost sight of
    going_on = False
    if job.folder.is_dir():
        # Whoever trains in it holds it, and a folder that is held must not be removed.
        with alone_in(job.folder):
            going_on = not differences(job.config, run) and find_checkpoint(job.folder).checkpoint is not None
            if not going_on:
                make_room(job.config, run)
    else:
        make_room(job.config, run)
    train(job.config, job.folder, going_on)


def _portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class makes of being copied
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
