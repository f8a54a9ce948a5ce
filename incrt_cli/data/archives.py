"""Streams of text from plain, compressed and tarred files, never the whole file in memory.

Compression is told by a file's first bytes: downloads are renamed too often to trust a suffix.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

import pyarrow as pa

from incrt_cli.errors import UserError

Kind = Literal["FASTA", "table"]
SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "FASTA": (".fasta", ".fa", ".fna", ".fas"),
    "table": (".tsv", ".csv", ".jsonl"),
}
COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_BUFFER = 1 << 16
_TAR_BLOCK = 512
_READ_ERRORS = (EOFError, OSError, lzma.LZMAError, zlib.error, tarfile.TarError, pa.ArrowInvalid)
_DECODERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x5d\x00\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": lambda raw: pa.CompressedInputStream(raw, "zstd"),
}
_UNSUPPORTED = {b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z"}


class _Guarded(io.RawIOBase):
    """A raw stream whose reads are always filled and whose errors are UserErrors naming the file.

    The errors of a truncated archive come while its reader is at work elsewhere, so they are
    turned here, where nothing but the archive can be the cause.
    """

    def __init__(self, source: Any, path: Path, at_end: Callable[[], None] | None = None) -> None:
        self._source, self._path, self._at_end = source, path, at_end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, filled = memoryview(buffer), 0
        try:
            while filled < len(view):
                chunk = self._source.read(len(view) - filled)
                if not chunk:
                    break
                view[filled : filled + len(chunk)] = chunk
                filled += len(chunk)
            if not filled and self._at_end:
                at_end, self._at_end = self._at_end, None  # readers may ask again after the end
                at_end()
        except _READ_ERRORS as error:
            raise UserError(
                f"cannot read {self._path}: {error} (is the file truncated or damaged?)"
            ) from error
        return filled


@contextmanager
def open_text(path: Path, kind: Kind) -> Iterator[TextIO]:
    """Open `path` as UTF-8 text (a byte-order mark is skipped), through any compression and tar.

    Of a tar archive, the one member with a suffix of `kind` is read. Raises UserError, now or at
    any later read, when the file is absent, empty, damaged, not UTF-8 or of the wrong kind.
    """
    path = path.absolute()
    with ExitStack() as stack:
        stream = _open_bytes(path, kind, stack)
        text = stack.enter_context(io.TextIOWrapper(stream, encoding="utf-8-sig"))
        try:
            yield text
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not UTF-8 text: {error}") from error


def _open_bytes(path: Path, kind: Kind, stack: ExitStack) -> io.BufferedReader:
    try:
        raw = stack.enter_context(path.open("rb"))
    except OSError as error:
        raise UserError(f"cannot open {path}: {error.strerror}") from error
    # Compressed, then perhaps tar, then perhaps compressed again: each layer is told by its own bytes.
    stream = _decompress(io.BufferedReader(_Guarded(raw, path), _BUFFER), path, stack)
    if _is_tar(stream.peek(_TAR_BLOCK)[:_TAR_BLOCK]):
        stream = _decompress(_member(stream, path, kind, stack), path, stack)
    if not stream.peek(1):
        raise UserError(f"{path} is empty")
    return stream


def _decompress(stream: io.BufferedReader, path: Path, stack: ExitStack) -> io.BufferedReader:
    head = stream.peek(8)
    for magic, name in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise UserError(f"{path} is a {name} archive, which is not read: unpack it first")
    for magic, decoder in _DECODERS.items():
        if head.startswith(magic):
            source = decoder(stream)
            stack.callback(source.close)
            return io.BufferedReader(_Guarded(source, path), _BUFFER)
    return stream


def _is_tar(block: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")  # verifies the checksum
    except tarfile.HeaderError:
        return False
    return True


def _member(stream: io.BufferedReader, path: Path, kind: Kind, stack: ExitStack) -> io.BufferedReader:
    archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))
    passed: list[str] = []
    chosen = _next_member(archive, kind, passed)
    if chosen is None:
        raise UserError(
            f"{path} holds no {kind} file ({', '.join(SUFFIXES[kind])}); it holds: {', '.join(passed[:5])}"
        )

    def no_other() -> None:
        # A second file could only be lost silently: a stream does not go back to ask which is meant.
        if other := _next_member(archive, kind, []):
            raise UserError(
                f"{path} holds several {kind} files ({chosen.name}, {other.name}): unpack it and name one"
            )

    return io.BufferedReader(_Guarded(archive.extractfile(chosen), path, no_other), _BUFFER)


def _next_member(archive: tarfile.TarFile, kind: Kind, passed: list[str]) -> tarfile.TarInfo | None:
    while (info := archive.next()) is not None:
        name = Path(info.name).name.lower()
        for suffix in COMPRESSED:
            name = name.removesuffix(suffix)
        # macOS adds a "._name" of metadata beside every file it packs.
        if info.isfile() and name.endswith(SUFFIXES[kind]) and not name.startswith("._"):
            return info
        passed.append(info.name)
    return None
