"""Bytes and text of local files, through any compression and tar, never the whole file in memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from incrt_cli.errors import UserError
from incrt_cli.files.chunks import SIZE, Chunks, as_stream
from incrt_cli.files.compression import decompressed
from incrt_cli.files.tar import Kind, is_tar, untarred

_handler_numbers, _free_handlers = count(), list[str]()


@contextmanager
def open_bytes(path: Path, kind: Kind) -> Iterator[io.BufferedReader]:
    """The bytes of `path`, unpacked, without a UTF-8 byte-order mark.

    Of a tar archive, the members with a suffix of `kind` are read: all FASTA files one after the
    other, or the only table. Raises UserError, now or at any later read, when the file is absent,
    empty, truncated, damaged or holds nothing of that kind.
    """
    path = path.absolute()
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(path.open("rb"))
        except OSError as error:
            raise UserError(f"cannot open {path}: {error.strerror}") from error
        stream = _unpacked(as_stream(_chunks(raw), path, stack), path, stack)
        # Compressed, then perhaps tar, then perhaps compressed again: each layer is told by its own bytes.
        if is_tar(stream):
            stream = as_stream(untarred(stream, path, kind), path, stack)
        if stream.peek(3).startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        if not stream.peek(1):
            raise UserError(f"{path} is empty")
        yield stream


def _chunks(raw: io.BufferedReader) -> Chunks:
    yield from iter(partial(raw.read, SIZE), b"")


def _unpacked(stream: io.BufferedReader, path: Path, stack: ExitStack) -> io.BufferedReader:
    unpacked = decompressed(stream, path)
    return stream if unpacked is None else as_stream(unpacked, path, stack)


class Text(io.TextIOWrapper):
    """Lines end with "\\n" however the file ends them; `foreign_bytes`: those read as Latin-1 so far."""

    def __init__(self, stream: io.BufferedReader, handler: str) -> None:
        # Excel's "Unicode text" is UTF-16, always with its mark.
        marked = stream.peek(2).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        codecs.register_error(handler, self._read_as_latin_1)
        self.foreign_bytes = 0
        super().__init__(stream, encoding="utf-16" if marked else "utf-8", errors=handler)

    def _read_as_latin_1(self, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        self.foreign_bytes += error.end - error.start
        return error.object[error.start : error.end].decode("latin-1"), error.end


@contextmanager
def open_text(path: Path, kind: Kind) -> Iterator[Text]:
    """The text of `path`: UTF-8 or, with its byte-order mark, UTF-16; any other byte as Latin-1 has it.

    Raises UserError as `open_bytes` does.
    """
    with open_bytes(path, kind) as stream:
        # An error handler is known by its name for ever, so a name is used again once it is free.
        handler = _free_handlers.pop() if _free_handlers else f"incrt-latin-1-{next(_handler_numbers)}"
        try:
            with Text(stream, handler) as text:
                yield text
        finally:
            codecs.register_error(handler, codecs.strict_errors)
            _free_handlers.append(handler)
