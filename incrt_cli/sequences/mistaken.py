"""Files that are given as FASTA of one alphabet and are something else, each told by its own message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import GAPS, NUCLEOTIDE, WHITE_SPACE, Alphabet

_SHOWN = 40
_LOOKED_AT = 10  # records by which the alphabet is told
_ENOUGH = 50  # letters: no real protein of that length is made of A, C, G, T and N alone
_NO_NUCLEOTIDE = b"EFILPQJOZ*"  # X is left out: some write it for N
# Stray letters, this many or this share, are counted with their record: they do not make it a protein.
_STRAY, _PROTEIN_SHARE = 2, 0.05
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))


def check_head(head: bytes, path: Path) -> None:
    """Raise UserError when `head`, the first bytes of the file at `path`, does not begin a FASTA file."""
    text = head.lstrip(WHITE_SPACE)
    if text.startswith(b">"):
        return
    if any(code in text[:_SHOWN] for code in _CONTROL):
        raise UserError(f"{path} is a binary file, not FASTA text: is it packed in a way that is not read?")
    if text[:9].lower() == b"<!doctype" or text[:5].lower() == b"<html":
        raise UserError(f"{path} is a web page (HTML), not FASTA: download the file that the page links to")
    if re.match(rb"@[^\r\n]*[\r\n]+[^\r\n]*[\r\n]+\+", text):
        raise UserError(f"{path} is FASTQ, not FASTA: convert it, for example with: seqtk seq -A")
    if text.startswith(b"LOCUS "):
        raise UserError(f"{path} is a GenBank file, not FASTA: download it as FASTA, or convert it")
    if not re.search(rb"[\r\n]>", head):
        raise UserError(f"{path} holds no FASTA record (no line starts with '>')")
    line = len(head[: len(head) - len(text) + 1].splitlines())
    raise UserError(
        f"{path}, line {line}: text before the first record ({_shown(text)}); FASTA starts with a line "
        "'>name', so remove what stands before it"
    )


def _shown(text: bytes) -> str:
    return repr(text.splitlines()[0][:_SHOWN].decode("latin-1"))


def check_records(
    records: Iterator[tuple[str, bytes]], alphabet: Alphabet, path: Path
) -> Iterator[tuple[str, bytes]]:
    """Pass `records` on; raise UserError when one of the first is of the other alphabet."""
    for header, sequence in islice(records, _LOOKED_AT):
        if alphabet == NUCLEOTIDE and _is_protein(sequence):
            raise UserError(
                f"{path} holds proteins (record {header!r}), and nucleotides are expected: give the "
                "nucleotide FASTA, or choose the protein alphabet"
            )
        if alphabet != NUCLEOTIDE and _is_nucleotide(sequence):
            raise UserError(
                f"{path} holds nucleotides (record {header!r}), and proteins are expected: give the protein "
                "FASTA, or choose the nucleotide alphabet"
            )
        yield header, sequence
    yield from records


def _is_protein(sequence: bytes) -> bool:
    count = len(sequence) - len(sequence.translate(None, _NO_NUCLEOTIDE))
    return count > max(_STRAY, _PROTEIN_SHARE * len(sequence))


def _is_nucleotide(sequence: bytes) -> bool:
    letters = sequence.translate(None, GAPS)
    return len(letters) >= _ENOUGH and not letters.translate(None, b"ACGTUN")
