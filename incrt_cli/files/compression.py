"""Decompression, told by a file's first bytes: downloads are renamed too often to trust a suffix.

The standard library's readers of xz and bz2 pass over whatever follows the first stream and is not
compressed, so a second stream with a damaged beginning would be lost unseen. Here the whole file is
compressed, zeros at its end aside (which tapes and `xz --block-size` pad with), or it is an error.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from incrt_cli.errors import UserError
from incrt_cli.files.chunks import SIZE, Chunks

_NOT_READ = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"PK\x05\x06": "an empty zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x04\x22\x4d\x18": "lz4-compressed",
    b"\x1f\x9d": "compressed with the Unix program compress",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook or Word document",
}


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Gzip:
    """zlib's decompressor as bz2 and lzma have theirs; it checks length and CRC at the end."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


def decompressed(stream: io.BufferedReader, path: Path) -> Chunks | None:
    """What `stream` holds, unpacked, or None when it is not compressed.

    Raises UserError for packings that are not read; iteration raises OSError, EOFError or the
    library's own error where the data are truncated or damaged.
    """
    head = stream.peek(8)
    for magic, name in _NOT_READ.items():
        if head.startswith(magic):
            raise UserError(f"{path} is {name}, which is not read: unpack it, or save it as text, first")
    for magic, unpack in _UNPACKERS.items():
        if head.startswith(magic):
            return unpack(stream)
    return None


def _unpack(new: Callable[[], _Decompressor], magic: bytes, stream: io.BufferedReader) -> Chunks:
    data = stream.read(SIZE)
    while data:
        decompressor = new()
        while not decompressor.eof:
            if not data and decompressor.needs_input:
                data = stream.read(SIZE)
            at_end = not data and decompressor.needs_input
            # Never without a limit: 64 KiB of xz may hold a gigabyte.
            chunk = decompressor.decompress(data, SIZE)
            data = b""
            if chunk:
                yield chunk
            elif at_end and not decompressor.eof:
                raise EOFError("it ends in the middle of the compressed data")
        data = _after_one(decompressor.unused_data, stream, magic)


def _after_one(data: bytes, stream: io.BufferedReader, magic: bytes) -> bytes:
    """The beginning of the next compressed stream in the file; nothing when there is none."""
    data = data.lstrip(b"\0")
    while len(data) < len(magic) and (more := stream.read(SIZE)):
        data = (data + more).lstrip(b"\0")
    if data and not data.startswith(magic):
        raise OSError("bytes that are not compressed follow the compressed ones")
    return data


def _unpack_zstd(stream: io.BufferedReader) -> Chunks:
    with pa.CompressedInputStream(stream, "zstd") as unpacked:
        while chunk := unpacked.read(SIZE):
            yield chunk


_NEW: dict[bytes, Callable[[], _Decompressor]] = {
    b"\x1f\x8b": _Gzip,
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
    b"\x5d\x00\x00": lzma.LZMADecompressor,
    b"BZh": bz2.BZ2Decompressor,
}
_UNPACKERS: dict[bytes, Callable[[io.BufferedReader], Chunks]] = {
    **{magic: partial(_unpack, new, magic) for magic, new in _NEW.items()},
    b"\x28\xb5\x2f\xfd": _unpack_zstd,
    # Parallel writers begin with a frame that says how long the next one is.
    **{bytes([low]) + b"\x2a\x4d\x18": _unpack_zstd for low in range(0x50, 0x60)},
}
