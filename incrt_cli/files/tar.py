"""The members of a tar archive that are wanted, as one stream of bytes."""

from __future__ import annotations

import codecs
import io
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, cast

from incrt_cli.errors import UserError
from incrt_cli.files.chunks import SIZE, Chunks, as_stream
from incrt_cli.files.compression import decompressed

Kind = Literal["FASTA", "table"]
SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "FASTA": (".fasta", ".fa", ".fna", ".faa", ".ffn", ".fas"),
    "table": (".tsv", ".csv", ".jsonl", ".parquet"),
}
PACKED = (".gz", ".xz", ".lzma", ".bz2", ".zst")
_BLOCK = 512
_SHOWN = 5


class _Header(tarfile.TarInfo):
    """A header that tarfile cannot read ends its iteration as if the archive ended; here it is an error."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Header:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            # Zeros mark an archive's end: a file that just stops was cut between two members.
            if isinstance(error, tarfile.EOFHeaderError):  # type: ignore[attr-defined]
                raise
            raise tarfile.ReadError(f"the tar archive is cut or damaged at a member ({error})") from error


def is_tar(stream: io.BufferedReader) -> bool:
    try:
        # Verifies the header's checksum.
        tarfile.TarInfo.frombuf(stream.peek(_BLOCK)[:_BLOCK], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def untarred(stream: io.BufferedReader, path: Path, kind: Kind) -> Chunks:
    """The members with a suffix of `kind`, each unpacked, one after the other in the archive's order.

    Raises UserError when there is none, and when there are several tables: their columns need not agree.
    """
    chosen, passed = "", list[str]()
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
        for info in _members(archive, kind, passed):
            if chosen and kind == "table":
                raise UserError(
                    f"{path} holds several tables ({chosen}, {info.name}): unpack it and name one"
                )
            chosen, last = info.name, b"\n"
            for last in _content(archive, info, path):
                yield last
            # The next member's first header must begin a line.
            if kind == "FASTA" and not last.endswith(b"\n"):
                yield b"\n"
    if not chosen:
        suffixes = ", ".join(SUFFIXES[kind])
        raise UserError(
            f"{path} holds no {kind} file ({suffixes}); it holds: {', '.join(passed) or 'nothing'}"
        )
    # What is packed ends with a checksum, which only a reader of the whole file verifies.
    while stream.read(SIZE):
        pass


def _members(archive: tarfile.TarFile, kind: Kind, passed: list[str]) -> Iterator[tarfile.TarInfo]:
    """The files of `kind`; the first names of the others go to `passed`."""
    while (info := archive.next()) is not None:
        # tarfile remembers every member: of an archive with one file for each genome, too much.
        archive.members.clear()  # type: ignore[attr-defined]
        if info.isfile() and _is_of_kind(info.name, kind):
            yield info
        elif len(passed) < _SHOWN:
            passed.append(info.name)


def _is_of_kind(member: str, kind: Kind) -> bool:
    name = Path(member).name.lower()
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    # macOS adds a "._name" of metadata beside every file it packs.
    return name.endswith(SUFFIXES[kind]) and not name.startswith("._")


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo, path: Path) -> Chunks:
    with ExitStack() as stack:
        packed = stack.enter_context(cast(io.BufferedReader, archive.extractfile(info)))
        unpacked = decompressed(packed, path)
        stream = packed if unpacked is None else as_stream(unpacked, path, stack)
        if stream.peek(3).startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        while chunk := stream.read(SIZE):
            yield chunk
