"""Inputs that can be read only once (standard input, pipes) as files that can be read again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from incrt_cli.errors import UserError
from incrt_cli.files.folders import temporary_folder

STDIN = "-"


@contextmanager
def regular_files(inputs: Mapping[str, str], folder: Path) -> Iterator[dict[str, Path]]:
    """The path of each input (setting → name), where `-` and pipes are copied to files under `folder`.

    The copies are removed at the end, also after an error; other inputs stay where they are. Raises
    UserError when a pipe holds nothing or is given twice, or when `folder` cannot be written.
    """
    passing = {key: name for key, name in inputs.items() if name == STDIN or Path(name).is_fifo()}
    for key, name in passing.items():
        if others := [other for other in passing if other != key and passing[other] == name]:
            raise UserError(
                f"{key} and {others[0]} are both {name!r}, which can be read only once: "
                "name a file for one of them"
            )
    paths = {key: Path(name) for key, name in inputs.items()}
    if not passing:
        yield paths
        return
    with temporary_folder(folder, "input") as temporary:
        copies = {key: _copy(key, name, temporary) for key, name in passing.items()}
        yield {**paths, **copies}


def _copy(key: str, name: str, folder: Path) -> Path:
    copy = folder / key
    try:
        if name == STDIN:
            _spool(None if sys.stdin is None else sys.stdin.buffer, copy)
        else:
            with open(name, "rb") as pipe:
                _spool(pipe, copy)
    except OSError as error:
        raise UserError(f"cannot copy {name!r} ({key}) to {folder}: {error.strerror or error}") from error
    if not copy.stat().st_size:
        what = "standard input" if name == STDIN else "the pipe"
        raise UserError(f"{key} is {name!r}, and {what} is empty: pipe a file into it, or name one")
    return copy


def _spool(source: BinaryIO | None, copy: Path) -> None:
    with copy.open("wb") as target:
        if source is not None:  # a process started without standard input has none
            shutil.copyfileobj(source, target, 1 << 20)
