"""Running the planned cells one by one, and taking up again where an earlier command stopped."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from incrt_cli.config.compare import differing_keys
from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.controls.counts import GROWN, parse_name
from incrt_cli.controls.plan import Cell, plan
from incrt_cli.errors import UserError
from incrt_cli.rundir import Run, find_runs, layout, read_run

Train = Callable[[Config, Path], object]  # trains a config into a run folder that does not exist yet
_LOCK = ".lock"
_KEYS_NAMED = 3


@dataclass(frozen=True)
class Failure:
    """A cell that did not finish, and why."""

    cell: Cell
    error: Exception


def run_controls(
    config: Config, seeds: Sequence[int], parent: Path, train: Train, say: Callable[[str], None]
) -> list[Failure]:
    """Run every cell of `config` that has not finished under `parent`; returns those that failed.

    Grown runs come first, because static sizes depend on them. Raises UserError when the folder cannot be
    used, and passes an interruption on.
    """
    failures: dict[str, Failure] = {}
    with _alone(parent):
        # Twice: the second plan knows what the first one's grown runs ended with.
        for _ in range(2):
            cells = plan(config, seeds, grown_heads(parent, seeds))
            for number, cell in enumerate(cells, start=1):
                if str(cell.name) in failures or _finished(cell, parent):
                    continue
                say(f"[{number}/{len(cells)}] {cell.name}")
                try:
                    _run(cell, parent, train)
                except Exception as error:  # one bad cell must not cost the night's others
                    say(f"{cell.name} failed: {error}")
                    failures[str(cell.name)] = Failure(cell, error)
    return list(failures.values())


def grown_heads(parent: Path, seeds: Sequence[int]) -> dict[int, int]:
    """Final heads, over all layers, of the finished grown runs under `parent`, by seed."""
    found: dict[int, int] = {}
    for run in map(read_run, find_runs(parent)):
        name = parse_name(run.name)
        if name and name.control == GROWN and name.seed in seeds and run.status == "complete" and run.result:
            found[name.seed] = int(run.result["heads"])
    return found


def _finished(cell: Cell, parent: Path) -> bool:
    run = read_run(parent / str(cell.name))
    return run.status == "complete" and not _differences(cell.config, run)


def _run(cell: Cell, parent: Path, train: Train) -> None:
    folder = parent / str(cell.name)
    _make_room(cell, read_run(folder))
    train(cell.config, folder)


def _make_room(cell: Cell, run: Run) -> None:
    """Remove what an unfinished run of this cell left; anything else that is in the way stays."""
    if not os.path.lexists(run.path):
        return
    if run.status == "complete":
        keys = _differences(cell.config, run)
        more = f" and {len(keys) - _KEYS_NAMED} more" if len(keys) > _KEYS_NAMED else ""
        raise UserError(
            f"{run.path} is a finished run with other settings ({', '.join(keys[:_KEYS_NAMED])}{more}); "
            "give name=OTHER or --run-dir, or remove that folder"
        )
    # Killed before its config was written, a run holds its empty events file alone.
    bare = os.path.isdir(run.path) and {*os.listdir(run.path)} <= {layout.EVENTS}
    if run.status == "foreign" and not bare:
        raise UserError(f"{run.path} is in the way and no run of incrt's; move it or give --run-dir")
    shutil.rmtree(run.path)


def _differences(config: Config, run: Run) -> list[str]:
    """Dotted keys in which a run's config is another one; keys that it lacks have their defaults."""
    try:
        stored = load_config(None, base=run.config)
    except UserError:
        return [layout.CONFIG]
    return differing_keys(config, stored)


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Hold `parent` for one command: another one would take a running cell for one that was killed."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(parent / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(
            f"cannot write the folder {parent}: {error.strerror}; give another with --run-dir"
        ) from error
    try:
        _lock(descriptor, parent)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, parent: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(f"{parent}: another incrt is training these controls now") from error
