"""One sequence to tokens or mutations: what worker processes run, so no torch and nothing of the task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import FastaData
from incrt_cli.data.rows import digest
from incrt_cli.sequences.align import MinimapAligner, ProteinAligner, as_given
from incrt_cli.sequences.alphabet import GAPS, NUCLEOTIDE, PROTEIN, Alphabet, Composition, code, composition
from incrt_cli.sequences.blocks import Aligned
from incrt_cli.sequences.genes import Region
from incrt_cli.sequences.kmer import KmerEncoder
from incrt_cli.sequences.mutations import differences
from incrt_cli.sequences.reference import Reference

NO_SEQUENCE = "no letter in its sequence"
SHORT, NO_KMER = "ends before the region does", "no k-mer in it"
UNALIGNED, UNKNOWN = "does not align to the reference", "more unknown letters than data.max_unknown"
ALPHABETS = {alphabet.name: alphabet for alphabet in (NUCLEOTIDE, PROTEIN)}


class EncodedRecord(NamedTuple):
    """`content`: tokens (int32) or mutations, empty when `dropped` says why; `letters` counts what was read.

    `digest` is of the whole sequence as it was in the file.
    """

    content: npt.NDArray[np.int32] | list[str]
    dropped: str | None
    digest: int
    letters: Composition | None = None
    reverse: bool = False
    left_out: int = 0  # letters inserted into the region, which reference coordinates have no place for


@dataclass(frozen=True)
class RecordEncoder:
    """`encode` is a pure function of the sequence; the object can be sent to another process."""

    alphabet_name: str
    encoding: str
    k: int
    stride: int
    region: Region | None
    reference: Reference | None
    alignment: str
    gaps: str
    max_unknown: float

    @classmethod
    def build(cls, data: FastaData, reference: Reference | None, region: Region | None) -> RecordEncoder:
        return cls(
            data.alphabet, data.encoding, data.k, data.stride, region, reference,
            data.aligned_by, data.gaps, data.max_unknown,
        )  # fmt: skip

    @cached_property
    def alphabet(self) -> Alphabet:
        return ALPHABETS[self.alphabet_name]

    @cached_property
    def kmers(self) -> KmerEncoder:
        return KmerEncoder(self.k, self.stride, self.alphabet)

    def encode(self, sequence: bytes, name: str) -> EncodedRecord:
        """Raises UserError, naming the record, when an alignment file's rows differ in length."""
        whole = digest(sequence)
        if not sequence:
            return EncodedRecord([], NO_SEQUENCE, whole)
        if self.alignment == "none":
            return self._raw(sequence, whole)
        aligned = self._align(sequence, name)
        if aligned is None:
            return EncodedRecord([], UNALIGNED, whole)
        return self._placed(aligned, whole)

    def _align(self, sequence: bytes, name: str) -> Aligned | None:
        if self.alignment == "reference":
            assert self.reference is not None
            return _aligner(self.reference, self.alphabet_name).align(sequence)
        if self.reference is None:
            return Aligned(sequence)
        return as_given(name, sequence, self.reference, self.alphabet)

    def _raw(self, sequence: bytes, whole: int) -> EncodedRecord:
        if self.region is not None and len(sequence) < _end(self.region):
            return EncodedRecord([], SHORT, whole)
        return self._tokens(_cut(sequence, self.region), whole, False, 0)

    def _placed(self, aligned: Aligned, whole: int) -> EncodedRecord:
        if self.region is not None and len(aligned.columns) < _end(self.region):
            return EncodedRecord([], SHORT, whole)
        columns = _cut(aligned.columns, self.region)
        if self.encoding == "kmer":
            return self._tokens(columns, whole, aligned.reverse, _inserted(aligned, self.region))
        assert self.reference is not None
        letters = composition(code(columns, self.alphabet))
        if _unknown_share(letters) > self.max_unknown:
            return EncodedRecord([], UNKNOWN, whole)
        found = differences(aligned, self.reference, self.region, self.alphabet)
        return EncodedRecord(found.mutations, None, whole, letters, aligned.reverse)

    def _tokens(self, piece: bytes, whole: int, reverse: bool, inserted: int) -> EncodedRecord:
        coded = code(piece, self.alphabet)
        letters = composition(coded)
        if _unknown_share(letters) > self.max_unknown:
            return EncodedRecord([], UNKNOWN, whole)
        if self.gaps == "remove" and letters.gaps:
            coded = code(piece.translate(None, GAPS), self.alphabet)
        tokens = self.kmers.encode(coded)
        return EncodedRecord(tokens, None if len(tokens) else NO_KMER, whole, letters, reverse, inserted)


def _unknown_share(letters: Composition) -> float:
    return 1 - letters.letters / max(sum(letters), 1)


def _end(region: Region) -> int:
    return max(end for _, end in region.parts)


def _cut(sequence: bytes, region: Region | None) -> bytes:
    if region is None:
        return sequence
    return b"".join(sequence[start - 1 : end] for start, end in region.parts)


def _inserted(aligned: Aligned, region: Region | None) -> int:
    """Letters between two positions of `region`, for which its columns have no place."""
    return sum(
        len(letters)
        for after, letters in aligned.insertions
        if region is None or any(start <= after < end for start, end in region.parts)
    )


@lru_cache(maxsize=1)
def _aligner(reference: Reference, alphabet: str) -> MinimapAligner | ProteinAligner:
    # Once a process, though every batch brings its own copy of the encoder.
    return MinimapAligner(reference) if alphabet == NUCLEOTIDE.name else ProteinAligner(reference)
