"""The files of one download: the part, the finished file, what is known of either, and a lock.

NAME.part and NAME.part.json while it comes; then NAME, NAME.sha256 (as sha256sum writes it) and
NAME.fetch.json, by which the server can be asked whether NAME is still the latest.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from incrt_cli.errors import UserError

Say = Callable[[str], None]
_BLOCK = 1 << 20


class Record(NamedTuple):
    """Where bytes came from and which version they are; sha256 and mtime_ns only of a finished file."""

    url: str
    etag: str = ""
    last_modified: str = ""
    length: int | None = None
    sha256: str = ""
    mtime_ns: int = 0

    @property
    def strong_validator(self) -> str:
        """What If-Range may carry; a weak ETag does not promise the same bytes."""
        return self.last_modified if self.etag.startswith("W/") else self.etag or self.last_modified

    def conditions(self) -> dict[str, str]:
        """Headers by which a server sends nothing when it has nothing newer."""
        both = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in both.items() if value}


class Local:
    """The paths beside `target`, and what may be done with them."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.part = self._beside(".part")
        self._checksum, self._lock = self._beside(".sha256"), self._beside(".lock")
        self._record, self._part_record = self._beside(".fetch.json"), self._beside(".part.json")

    def _beside(self, suffix: str) -> Path:
        return self.target.with_name(self.target.name + suffix)

    def finished(self, url: str) -> Record | None:
        """The record of the finished file, None when there is no file.

        Raises UserError for a file that was not fetched from `url`, or not left as it was fetched.
        """
        if not self.target.exists():
            return None
        record = _read(self._record)
        if record is None or not _describes(record, self.target):
            raise UserError(
                f"{self.target} is there already and is not as fetched: move it, or give another --to"
            )
        if record.url != url:
            raise UserError(f"{self.target} was fetched from {record.url}: move it, or give another --to")
        return record

    def resumable(self, url: str) -> tuple[int, Record | None]:
        """Where to go on and what the part belongs to; (0, None) when it is of no use."""
        record, size = _read(self._part_record), self.part_size()
        if record is None or record.url != url or not record.strong_validator:
            return 0, None
        # A whole part is asked for its last byte, since no server can send the range after the end.
        start = size if record.length is None else min(size, record.length - 1)
        return (start, record) if start > 0 else (0, None)

    def part_size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def begin(self, record: Record) -> None:
        """Note what the part to come belongs to; the old one must be gone."""
        _write(self._part_record, _as_json(record))

    def discard_part(self) -> None:
        self.part.unlink(missing_ok=True)
        self._part_record.unlink(missing_ok=True)

    def finish(self, record: Record, sha256: str) -> Record:
        """The part under its final name. Its record and checksum are written first: no file without them."""
        stat = self.part.stat()
        done = record._replace(length=stat.st_size, sha256=sha256, mtime_ns=stat.st_mtime_ns)
        _write(self._record, _as_json(done))
        _write(self._checksum, f"{sha256}  {self.target.name}\n")
        os.replace(self.part, self.target)
        self._part_record.unlink(missing_ok=True)
        return done

    @contextmanager
    def alone(self, say: Say) -> Iterator[None]:
        """No other process fetches this file meanwhile; waits for one that does."""
        while True:
            with open(self._lock, "a") as handle:
                _acquire(handle, self.target, say)
                # Whoever held it has removed it: what was waited for is then nobody's lock any more.
                if not self._lock.exists() or self._lock.stat().st_ino != os.fstat(handle.fileno()).st_ino:
                    continue
                try:
                    yield
                finally:
                    self._lock.unlink(missing_ok=True)
                return


def hash_start(path: Path, length: int) -> hashlib._Hash:
    """A SHA-256 that has seen the first `length` bytes of a file."""
    hasher = hashlib.sha256()
    if length:
        with open(path, "rb") as file:
            while length and (block := file.read(min(length, _BLOCK))):
                hasher.update(block)
                length -= len(block)
    return hasher


def _describes(record: Record, path: Path) -> bool:
    stat = path.stat()
    if record.length != stat.st_size:
        return False
    # Copying a folder changes the time, not the content: then the bytes decide.
    return record.mtime_ns == stat.st_mtime_ns or record.sha256 == hash_start(path, stat.st_size).hexdigest()


def _acquire(handle: TextIO, target: Path, say: Say) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"{target.name}: another process is fetching it; waiting")
        fcntl.flock(handle, fcntl.LOCK_EX)


def _as_json(record: Record) -> str:
    return json.dumps(record._asdict(), indent=1) + "\n"


def _read(path: Path) -> Record | None:
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None  # a damaged record is none: the file is fetched anew


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
