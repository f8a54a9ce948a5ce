"""Files that a verb writes where the user says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from incrt_cli.errors import UserError


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
