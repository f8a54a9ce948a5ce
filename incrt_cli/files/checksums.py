"""SHA-256 of files, remembered: 500 GB should not be read before every run only to find them as before."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrt_cli.errors import UserError

_MEMO = "checksums.json"
_REMEMBERED = 1000
_SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system in use (FAT)
Memo = dict[str, list[str | int]]


def file_sha256(path: Path, folder: Path | None = None) -> str:
    """Hash of the file's bytes as they lie on disk, in hexadecimal digits.

    With `folder`, taken from the memo there while size, times of change and inode are the same, and
    noted in it otherwise; a memo that cannot be read or written is done without. Raises UserError
    when the file cannot be read.
    """
    path = path.absolute()
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a regular file (it is read more than once)")
    try:
        with path.open("rb") as file:
            seen = _identity(os.fstat(file.fileno()))
            entry = [] if folder is None else _read(folder).get(str(path), [])
            if entry[1:] == seen:
                return str(entry[0])
            digest = _sha256(file.fileno())
            unchanged = _identity(os.fstat(file.fileno())) == seen
    except OSError as error:
        raise UserError(f"cannot open {path}: {error.strerror}") from error
    # A file written a moment ago may be written again within one tick of its clock.
    if folder is not None and unchanged and time.time_ns() - max(seen[1:3]) > _SETTLED_NS:
        _note(folder, str(path), [digest, *seen])
    return digest


def _identity(status: os.stat_result) -> list[int]:
    # The time of the last change to the inode is there because programs set the other one as they like.
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _sha256(descriptor: int) -> str:
    hasher = hashlib.sha256()
    while chunk := os.read(descriptor, 1 << 20):
        hasher.update(chunk)
    return hasher.hexdigest()


def _read(folder: Path) -> Memo:
    try:
        memo = json.loads((folder / _MEMO).read_text(encoding="utf-8"))
        return {str(name): list(entry) for name, entry in memo.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _note(folder: Path, name: str, entry: list[str | int]) -> None:
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            # Read anew: another process may have noted its files meanwhile.
            memo = _read(folder)
            memo.pop(name, None)
            _write(folder, dict([*memo.items(), (name, entry)][-_REMEMBERED:]))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems have no locks: a note may be lost there, and its file hashed again.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(folder: Path, memo: Memo) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{_MEMO}-", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(memo, file)
        os.replace(temporary, folder / _MEMO)
    except OSError:
        os.unlink(temporary)
