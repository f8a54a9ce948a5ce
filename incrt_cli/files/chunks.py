"""Chunks of bytes as a buffered stream whose errors name the file."""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from incrt_cli.errors import UserError

SIZE = 1 << 16
Chunks = Generator[bytes, None, None]
_READ_ERRORS = (EOFError, OSError, lzma.LZMAError, zlib.error, tarfile.TarError, pa.ArrowException)


class _Raw(io.RawIOBase):
    """The errors of a truncated archive come while its reader is at work elsewhere, so they are turned
    into UserErrors here, where nothing but the archive can be the cause.
    """

    def __init__(self, chunks: Chunks, path: Path) -> None:
        self._chunks, self._path = chunks, path
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, filled = memoryview(buffer), 0
        # Filled to the brim, because the layer above looks at its first buffer to tell what it holds.
        while filled < len(view):
            if not self._rest:
                self._rest = memoryview(self._next())
                if not self._rest:
                    break
            part = self._rest[: len(view) - filled]
            view[filled : filled + len(part)] = part
            filled, self._rest = filled + len(part), self._rest[len(part) :]
        return filled

    def _next(self) -> bytes:
        try:
            return next(self._chunks, b"")
        except _READ_ERRORS as error:
            raise UserError(
                f"cannot read {self._path}: {error} (is the file truncated or damaged? Get it again.)"
            ) from error


def as_stream(chunks: Chunks, path: Path, stack: ExitStack) -> io.BufferedReader:
    """A stream of `chunks`, none of them empty, that `stack` closes; errors are UserErrors naming `path`."""
    stack.callback(chunks.close)
    return stack.enter_context(io.BufferedReader(_Raw(chunks, path), SIZE))
