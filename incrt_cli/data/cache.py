"""Encoded rows on disk: an Arrow file and its account, keyed by what they were made from.

An entry is written to a temporary folder and renamed, so two runs at once cannot see half of one;
it is verified by hash at every use, and made again when it is damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import datasets

from incrt_cli.data.folders import atomic_folder
from incrt_cli.data.rows import RowWriter
from incrt_cli.errors import UserError

FORMAT = 1  # raise it whenever rows or account change their meaning
_ROWS, _ACCOUNT = "rows.arrow", "account.json"


class Entry(NamedTuple):
    """`rows`: the memory-mapped dataset (columns as `RowWriter` has them); `reused`: it was there before."""

    home: Path
    rows: datasets.Dataset
    account: dict[str, Any]
    reused: bool


def cache_folder(configured: str | None) -> Path:
    """`data.cache_dir`, else `$XDG_CACHE_HOME/incrt`, else `~/.cache/incrt`."""
    if configured is not None:
        return Path(configured).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "incrt"


def file_sha256(path: Path) -> str:
    """Hash of the file's bytes as they lie on disk; UserError when it cannot be read."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path.absolute()} is not a regular file (it is read more than once)")
    try:
        return _sha256(path)
    except OSError as error:
        raise UserError(f"cannot open {path.absolute()}: {error.strerror}") from error


def _sha256(path: Path) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    return hasher.hexdigest()


def key_of(settings: Mapping[str, Any]) -> str:
    text = json.dumps({"format": FORMAT, **settings}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def get_or_make(
    folder: Path,
    settings: Mapping[str, Any],
    vocabulary_size: int,
    make: Callable[[RowWriter], dict[str, Any]],
) -> Entry:
    """The entry for `settings` under `folder`; `make` writes its rows and returns its account.

    Whatever `make` raises leaves nothing behind. Raises UserError when `folder` cannot be written.
    """
    home = folder / "encoded" / key_of(settings)
    found = _open(home)
    if found is not None:
        return Entry(home, *found, reused=True)
    with atomic_folder(home, lambda: _open(home) is not None) as temporary:
        with RowWriter(temporary / _ROWS, vocabulary_size) as writer:
            account = make(writer)
        content = {"rows_sha256": _sha256(temporary / _ROWS), "account": account}
        (temporary / _ACCOUNT).write_text(json.dumps(content), encoding="utf-8")
    # Not necessarily ours: another process may have been first.
    made = _open(home)
    if made is None:
        raise UserError(f"the cache entry {home} changed while it was being used: run the command again")
    return Entry(home, *made, reused=False)


def _open(home: Path) -> tuple[datasets.Dataset, dict[str, Any]] | None:
    """The entry, or None when it is absent or damaged."""
    try:
        content = json.loads((home / _ACCOUNT).read_text(encoding="utf-8"))
        if _sha256(home / _ROWS) != content["rows_sha256"]:
            return None
        # from_file maps the file into memory; it copies nothing and asks no network.
        return datasets.Dataset.from_file(str(home / _ROWS)), content["account"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
