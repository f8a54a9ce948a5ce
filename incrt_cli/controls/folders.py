"""Run folders of cells below one parent: which are finished, what is in the way, and who holds the parent."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrt_cli.config.compare import differing_keys
from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.errors import UserError
from incrt_cli.rundir import Run, layout, read_run

_LOCK = ".lock"
_KEYS_NAMED = 3


def is_finished(config: Config, folder: Path) -> bool:
    """Whether `folder` holds a finished run of exactly this config."""
    run = read_run(folder)
    return run.status == "complete" and not differences(config, run)


def make_room(config: Config, run: Run) -> None:
    """Remove what an unfinished run left; raises UserError for anything else in the way, and keeps it."""
    if not os.path.lexists(run.path):
        return
    if run.status == "complete":
        keys = differences(config, run)
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


def differences(config: Config, run: Run) -> list[str]:
    """Dotted keys in which a run's config is another one; keys that it lacks have their defaults."""
    try:
        stored = load_config(None, base=run.config)
    except UserError:
        return [layout.CONFIG]
    return differing_keys(config, stored)


@contextmanager
def alone(parent: Path) -> Iterator[None]:
    """Hold `parent`, made if absent, for one command: another one would take a running cell for a killed one.

    Raises UserError where it cannot be written, or another command holds it.
    """
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
        raise UserError(f"{parent}: another incrt is training in this folder now") from error
