"""Sequences in the columns of a reference: by minimap2, by Biopython's aligner, or as a file has them.

The aligners may be pickled and are built again in a worker process within milliseconds: minimap2's
binding holds the interpreter's lock, so processes, not threads, share the work.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from Bio.Align import PairwiseAligner, substitution_matrices

from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import GAPS, NUCLEOTIDE, PROTEIN, Alphabet
from incrt_cli.sequences.blocks import Aligned, Block, in_columns
from incrt_cli.sequences.nearby import NearbyAligner
from incrt_cli.sequences.reference import Reference
from incrt_cli.sequences.stitch import collinear, filled, scattered

_COMPLEMENT = bytes.maketrans(b"ACGTRYKMBVDH", b"TGCAYRMKVBHD")
# Its short seeds find sequences that differ in 15 % too; its own costs, made for raw reads, would put gaps
# where assemblies have substitutions: match, mismatch, opening and extending a gap, the same of a long gap.
_PRESET, _COSTS = "map-ont", (1, 4, 6, 2, 26, 1)
_MATRIX: Any = substitution_matrices.load("BLOSUM62")  # type: ignore[no-untyped-call]
_BLOSUM = bytes(code if chr(code) in _MATRIX.alphabet else ord("X") for code in range(256))
# Free ends give any two proteins some score: a related one has this share of what it scores with itself.
_RELATED = 0.25
_MATCH, _INSERTION, _DELETION = 0, 1, 2  # operations of a CIGAR as numbers


def reverse_complement(sequence: bytes) -> bytes:
    return sequence.translate(_COMPLEMENT)[::-1]


def as_given(header: str, sequence: bytes, reference: Reference, alphabet: Alphabet) -> Aligned:
    """A sequence of an alignment to `reference`, whose gaps at the ends are unknown, not deleted.

    Raises UserError naming the record when it has not the reference's length.
    """
    if len(sequence) != len(reference.sequence):
        raise UserError(
            f"the record {header!r} has {len(sequence)} columns and the reference {reference.name!r} "
            f"{len(reference.sequence)}: the file is not aligned to this reference"
        )
    blocks, query = [], 0
    for run in re.finditer(rb"[^.-]+", sequence):
        blocks.append(Block(run.start(), query, len(run[0])))
        query += len(run[0])
    if not blocks:
        return Aligned(alphabet.unknown * len(sequence))
    return in_columns(blocks, sequence.translate(None, GAPS), reference.sequence, alphabet.unknown)


class MinimapAligner:
    """Nucleotides to a reference by minimap2, on whichever strand they align better."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._nearby = NearbyAligner(reference.sequence, NUCLEOTIDE.unknown)
        self._minimap = _mappy().Aligner(seq=reference.sequence.decode(), preset=_PRESET, scoring=_COSTS)

    def __reduce__(self) -> tuple[type[MinimapAligner], tuple[Reference]]:
        return MinimapAligner, (self._reference,)

    def align(self, sequence: bytes) -> Aligned | None:
        """`sequence`, with or without gaps, in the reference's columns; None when it does not align."""
        query = sequence.translate(None, GAPS)
        if found := self._nearby.align(query):
            return found
        if turned := self._nearby.align(reverse_complement(query)):
            return turned._replace(reverse=True)
        return self.by_minimap(query)

    def by_minimap(self, query: bytes) -> Aligned | None:
        """As `align`, of a sequence without gaps and however close it is to the reference."""
        hits = [hit for hit in self._minimap.map(query.decode()) if hit.is_primary]
        if not hits:
            return None
        by_strand = {strand: sum(hit.mlen for hit in hits if hit.strand == strand) for strand in (1, -1)}
        strand = max(by_strand, key=lambda strand: by_strand[strand])
        if strand < 0:
            query = reverse_complement(query)
        blocks = collinear(_blocks(hit, len(query)) for hit in hits if hit.strand == strand)
        blocks = filled(blocks, query, self._reference.sequence, NUCLEOTIDE.unknown)
        return in_columns(blocks, query, self._reference.sequence, NUCLEOTIDE.unknown, reverse=strand < 0)


class ProteinAligner:
    """Amino acids to a reference: BLOSUM62, affine gaps, whole sequences, gaps at the ends free."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._opposite = reference.sequence.translate(_BLOSUM)
        self._aligner: Any = PairwiseAligner(mode="global")  # type: ignore[no-untyped-call]
        self._aligner.substitution_matrix = _MATRIX
        self._aligner.open_gap_score, self._aligner.extend_gap_score = -11, -1
        self._aligner.end_gap_score = 0

    def __reduce__(self) -> tuple[type[ProteinAligner], tuple[Reference]]:
        return ProteinAligner, (self._reference,)

    def align(self, sequence: bytes) -> Aligned | None:
        """`sequence`, with or without gaps, in the reference's columns; None when it does not align."""
        query = sequence.translate(None, GAPS)
        blocks = self._blocks(query)
        if not blocks:
            return None
        return in_columns(blocks, query, self._reference.sequence, PROTEIN.unknown)

    def _blocks(self, query: bytes) -> list[Block]:
        reference = self._reference.sequence
        if len(query) == len(reference) and scattered(query, reference, PROTEIN.unknown):
            return [Block(0, 0, len(query))]
        own = query.translate(_BLOSUM)
        most = min(_self_score(own), _self_score(self._opposite))
        if most <= 0:
            return []
        alignments = self._aligner.align(self._opposite, own)
        if alignments.score < _RELATED * most:
            return []
        runs = zip(*alignments[0].aligned, strict=True)
        return [Block(int(start), int(own_start), int(end - start)) for (start, end), (own_start, _) in runs]


def _self_score(own: bytes) -> float:
    return float(sum(own.count(letter.encode()) * _MATRIX[letter, letter] for letter in _MATRIX.alphabet))


def _mappy() -> Any:
    try:
        return import_module("mappy")
    except ImportError as error:
        raise UserError("aligning needs the package mappy: pip install 'incrt[align]'") from error


def _blocks(hit: Any, query_length: int) -> list[Block]:
    # Positions of a reverse hit count from the other end: the CIGAR follows the reference.
    reference, query = hit.r_st, hit.q_st if hit.strand > 0 else query_length - hit.q_en
    blocks = []
    for length, operation in hit.cigar:
        if operation == _MATCH:
            blocks.append(Block(reference, query, length))
        reference += length if operation != _INSERTION else 0
        query += length if operation != _DELETION else 0
    return blocks
