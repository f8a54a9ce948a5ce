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

import pyarrow as pa
import xxhash

from incrt_cli.data.rows import RowWriter, read_rows
from incrt_cli.errors import UserError
from incrt_cli.files.folders import atomic_folder

FORMAT = 3  # raise it whenever rows or account change their meaning
_ROWS, _ACCOUNT = "rows.arrow", "account.json"


class Entry(NamedTuple):
    """`rows`: the memory-mapped table (columns as `RowWriter` has them); `reused`: it was there before."""

    home: Path
    rows: pa.Table
    account: dict[str, Any]
    reused: bool


def cache_folder(configured: str | None) -> Path:
    """`data.cache_dir`, else `$XDG_CACHE_HOME/incrt`, else `~/.cache/incrt`."""
    if configured is not None:
        return Path(configured).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "incrt"


def key_of(settings: Mapping[str, Any]) -> str:
    text = json.dumps({"format": FORMAT, **settings}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def get_or_make(
    folder: Path,
    settings: Mapping[str, Any],
    vocabulary_size: int | None,
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
        content = {"rows_xxh3": _checksum(temporary / _ROWS), "account": account}
        (temporary / _ACCOUNT).write_text(json.dumps(content), encoding="utf-8")
    # Ours, or that of another process that was first and was found good.
    made = _open(home, verify=False)
    if made is None:
        raise UserError(f"the cache entry {home} changed while it was being used: run the command again")
    return Entry(home, *made, reused=False)


def _open(home: Path, verify: bool = True) -> tuple[pa.Table, dict[str, Any]] | None:
    """The entry, or None when it is absent or damaged."""
    try:
        content = json.loads((home / _ACCOUNT).read_text(encoding="utf-8"))
        if verify and _checksum(home / _ROWS) != content["rows_xxh3"]:
            return None
        return read_rows(home / _ROWS), content["account"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _checksum(path: Path) -> str:
    # Against damage, not malice: seven times as fast as SHA-256, and read again before every run.
    hasher = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    return hasher.hexdigest()
