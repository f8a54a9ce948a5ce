"""Files that a verb writes where the user says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import typer

from incrt_cli.errors import UserError


def require_out(folder: Path | None) -> None:
    """Raises UserError where `folder` can neither be made nor written to. Asked before what takes minutes."""
    if folder is None:
        return
    # Nothing is made yet: a verb that fails leaves no empty folder.
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
    if not there.is_dir():
        raise UserError(
            f"cannot make the folder {folder.absolute()}: {there} is no folder; give another --out"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"cannot write in {there}; give another --out")


def write_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write `files` (contents by name) into `folder`, and say so. Raises UserError if it cannot be made."""
    from incrt_cli.rundir.atomic import write_atomic

    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {folder}: {error.strerror}; give another --out") from error
    for name, content in files.items():
        write_atomic(folder / name, content)
    *others, last = files
    names = f"{', '.join(others)} and {last}" if others else last
    typer.echo(f"wrote {names} in {folder}", err=True)
