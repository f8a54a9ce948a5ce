"""Nucleotides to k-mer tokens, vectorised.

A k-mer of A, C, G, T (or U), upper or lower case, is read as a number in base 4 and gets the
token 2 … 4^k + 1. A k-mer with any other letter (N, an IUPAC code, a gap) is unknown: token 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incrt_cli.data.task import UNKNOWN

_FIRST = UNKNOWN + 1
_OTHER = 4


def _digits() -> npt.NDArray[np.uint8]:
    # Upper and lower case alike: lower case marks masked or low-quality bases, which are still bases.
    table = np.full(256, _OTHER, dtype=np.uint8)
    for digit, letters in enumerate((b"Aa", b"Cc", b"Gg", b"TtUu")):
        table[list(letters)] = digit
    return table


_DIGIT = _digits()


@dataclass(frozen=True)
class KmerEncoder:
    """k-mers of length `k`, one every `stride` nt, of `region` (1-based, inclusive) of the sequence.

    Coordinates count on the sequence as given: nothing is aligned.
    """

    k: int
    stride: int
    region: tuple[int, int] | None = None

    @classmethod
    def from_text(cls, k: int, stride: int, region: str | None) -> KmerEncoder:
        if region is None:
            return cls(k, stride)
        start, end = region.split(":")
        return cls(k, stride, (int(start), int(end)))

    @property
    def vocabulary_size(self) -> int:
        return int(4**self.k + _FIRST)

    def cut(self, sequence: bytes) -> bytes | None:
        """The region's bases; None when the sequence ends before the region does."""
        if self.region is None:
            return sequence
        start, end = self.region
        return sequence[start - 1 : end] if len(sequence) >= end else None

    def encode(self, bases: bytes) -> npt.NDArray[np.int32]:
        """The tokens of `bases`: ⌊(len − k) / stride⌋ + 1 of them, none when it is shorter than k."""
        count = (len(bases) - self.k) // self.stride + 1
        if count < 1:
            return np.empty(0, dtype=np.int32)
        digits = _DIGIT[np.frombuffer(bases, dtype=np.uint8)]
        span = (count - 1) * self.stride + 1
        tokens = np.zeros(count, dtype=np.int32)
        unknown = np.zeros(count, dtype=bool)
        # One pass over the whole sequence for each of the k letters, never a loop over k-mers.
        for offset in range(self.k):
            digit = digits[offset : offset + span : self.stride]
            unknown |= digit == _OTHER
            tokens = tokens * 4 + digit
        return np.where(unknown, UNKNOWN, tokens + _FIRST).astype(np.int32)

    def covered(self, tokens: int) -> int:
        """Bases that the first `tokens` k-mers read; with stride > k, those between them are not."""
        return tokens and (tokens - 1) * min(self.stride, self.k) + self.k
