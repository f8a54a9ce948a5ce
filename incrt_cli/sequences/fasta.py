"""FASTA records as bytes, unpacked in a thread of their own.

Why no library reads them: pyfastx is faster still, but takes only plain and gzip files by name, cuts
headers at white space and reads FASTQ unasked. Biopython's parser works line by line on decoded text,
at less than half the speed; it is the oracle of the tests instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from incrt_cli.errors import UserError
from incrt_cli.files.streams import open_bytes
from incrt_cli.sequences.alphabet import NOT_TEXT, WHITE_SPACE, Alphabet
from incrt_cli.sequences.mistaken import check_head, check_records
from incrt_cli.sequences.read_ahead import read_ahead

_CHUNK = 1 << 18  # stays in a core's cache, where larger ones cost more than they save
_HEAD = 1 << 12  # bytes at the beginning by which another format is told
_LINE_ENDS = frozenset(b"\r\n")


def read_fasta(path: Path, alphabet: Alphabet) -> Iterator[tuple[str, bytes]]:
    """Stream (header without '>', sequence) of a FASTA file, packed or not.

    The header is literal text (UTF-8, else Latin-1) without white space at its end. The sequence is
    upper case, without white space and without a stop at its end, U as T for nucleotides; it may be
    empty. Raises UserError when the file cannot be read, holds no record, is of another format or of
    the other alphabet, and at a record that is damaged.
    """
    path = path.absolute()
    with open_bytes(path, "FASTA") as stream, read_ahead(stream, _CHUNK) as chunks:
        yield from parse_fasta(chunks, alphabet, path)


def first_headers(path: Path, alphabet: Alphabet, count: int) -> list[str]:
    return [header for header, _ in islice(read_fasta(path, alphabet), count)]


def parse_fasta(chunks: Iterable[bytes], alphabet: Alphabet, path: Path) -> Iterator[tuple[str, bytes]]:
    """The records of `chunks`, wherever these are cut; `path` is for the messages."""
    chunks = iter(chunks)
    head = _head(chunks)
    check_head(head, path)
    blobs = _cut(chain([head], chunks))
    next(blobs)  # white space before the first record
    records = (_record(blob, number, alphabet, path) for number, blob in enumerate(blobs, 1))
    return check_records(records, alphabet, path)


def _head(chunks: Iterator[bytes]) -> bytes:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head.lstrip(WHITE_SPACE)) >= _HEAD:
            break
    return head


def _cut(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """What precedes the first '>' that begins a line, then each record from its '>' to the next."""
    # A record's parts are joined once, at its end: one line of any length costs linear time.
    parts: list[bytes] = []
    before = ord("\n")
    for chunk in filter(None, chunks):
        start, at = 0, chunk.find(b">")
        while at >= 0:
            # Searching one byte is ten times as fast as searching for it behind a line end.
            if (chunk[at - 1] if at else before) in _LINE_ENDS:
                parts.append(chunk[start:at])
                yield b"".join(parts)
                parts, start = [], at
            at = chunk.find(b">", at + 1)
        parts.append(chunk[start:])
        before = chunk[-1]
    yield b"".join(parts)


def _record(blob: bytes, number: int, alphabet: Alphabet, path: Path) -> tuple[str, bytes]:
    line_end = _first_line_end(blob)
    header = _text(blob[1:line_end])
    sequence = blob[line_end:].translate(alphabet.table, WHITE_SPACE).removesuffix(alphabet.stop)
    if b">" in sequence:
        line = _line_of(blob, line_end, ord(">"))
        raise UserError(
            f"{path}: record {number} ({header!r}) has '>' inside its line {line}: the line end "
            "before a header is lost; put it back"
        )
    if NOT_TEXT in sequence or "\0" in header:
        raise UserError(
            f"{path}: record {number} ({header!r}) holds bytes that are no text: the file is "
            "damaged or not FASTA; get it again"
        )
    return header, sequence


def _first_line_end(blob: bytes) -> int:
    line_end = blob.find(b"\n")
    if line_end < 0:
        line_end = len(blob)
    carriage_return = blob.find(b"\r", 0, line_end)
    return line_end if carriage_return < 0 else carriage_return


def _line_of(blob: bytes, line_end: int, byte: int) -> int:
    """The line of the record, its header being the first, where `byte` first stands after the header."""
    return len(blob[: blob.index(byte, line_end)].splitlines())


def _text(header: bytes) -> str:
    try:
        return header.decode().rstrip()
    except UnicodeDecodeError:
        return header.decode("latin-1").rstrip()
