"""FASTA records, and the ids that a header may offer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from Bio.SeqIO.FastaIO import SimpleFastaParser

from incrt_cli.data.archives import open_text
from incrt_cli.errors import UserError

WHOLE, WORD = "the whole header", "the header's first word"


def read_fasta(path: Path) -> Iterator[tuple[str, str]]:
    """Stream (header without '>', sequence without white space) of a FASTA file, packed or not.

    Raises UserError when the file cannot be read or holds no record.
    """
    header = None
    with open_text(path, "FASTA") as handle:
        for header, sequence in SimpleFastaParser(handle):  # type: ignore[no-untyped-call]
            yield header, sequence
    if header is None:
        raise UserError(f"{path.absolute()} holds no FASTA record (no line starts with '>')")


def first_headers(path: Path, count: int) -> list[str]:
    return [header for header, _ in islice(read_fasta(path), count)]


def header_ids(header: str) -> dict[str, str]:
    """Every id that `header` offers, by the name of the rule that takes it.

    The rules: the whole header, its first word, and each of its `|` fields (GISAID writes
    `hCoV-19/…|EPI_ISL_…|date`). Whole comes first, so that it wins where rules agree.
    """
    words = header.split(None, 1)
    ids = {WHOLE: header, WORD: words[0] if words else ""}
    # A header without "|" offers no fields: its only one would be the header again.
    fields = header.split("|")
    if len(fields) > 1:
        ids |= {f"field {i} of the header (cut at |)": field for i, field in enumerate(fields, 1)}
    return ids


def header_id(header: str, rule: str) -> str:
    """The id by one rule; a header that has no such field is its own id."""
    if rule == WHOLE:
        return header
    return header_ids(header).get(rule, header)
