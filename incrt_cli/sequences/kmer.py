"""Sequences to k-mer tokens, vectorised.

A k-mer is read as a number in base |alphabet| and gets the token 2 + that number. A k-mer with any
letter outside the alphabet (N, X, an IUPAC code, a gap) is unknown: token 1. Token 0 is left for padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from incrt_cli.sequences.alphabet import Alphabet, Coded

PADDING, UNKNOWN = 0, 1
_FIRST = 2
Values = npt.NDArray[Any]


@dataclass(frozen=True)
class KmerEncoder:
    """k-mers of length `k`, one every `stride` letters; |alphabet|^k + 2 must fit an int32."""

    k: int
    stride: int
    alphabet: Alphabet

    @property
    def vocabulary_size(self) -> int:
        return int(self._base**self.k + _FIRST)

    @property
    def _base(self) -> int:
        return len(self.alphabet.letters)

    def encode(self, coded: Coded) -> npt.NDArray[np.int32]:
        """The ⌊(length − k) / stride⌋ + 1 tokens, or none, of a sequence as `alphabet.code` gives it."""
        count = (len(coded.digits) - self.k) // self.stride + 1
        if count < 1:
            return np.empty(0, dtype=np.int32)
        tokens = self._numbers(coded.digits, count)
        tokens += _FIRST
        if len(coded.rare):
            # Their numbers are meaningless, perhaps wrapped round, and touch no other k-mer's.
            tokens[self._holds_rare(coded.rare, len(coded.digits), count)] = UNKNOWN
        return tokens

    def covered(self, tokens: int) -> int:
        """Letters that the first `tokens` k-mers read; with stride > k, those between them are not."""
        return tokens and (tokens - 1) * min(self.stride, self.k) + self.k

    def _every(self, values: Values, start: int, count: int) -> Values:
        return values[start : start + (count - 1) * self.stride + 1 : self.stride]

    def _numbers(self, digits: Values, count: int) -> npt.NDArray[np.int32]:
        """The number of each k-mer, put together from the numbers of its parts, longest parts first."""
        pieces, start = [], 0
        for length, part in reversed(self._parts(digits)):
            while start + length <= self.k:
                pieces.append((self._base**length, self._every(part, start, count)))
                start += length
        numbers: npt.NDArray[np.int32] = pieces[0][1].astype(np.int32)
        for factor, piece in pieces[1:]:
            numbers *= factor
            numbers += piece
        return numbers

    def _parts(self, digits: Values) -> list[tuple[int, Values]]:
        """The numbers of all parts of length 1, 2, 4 … at every position, each from two halves."""
        parts = [(1, digits)]
        # With a stride most positions are thrown away again: worth it only while one pass over bytes does it.
        most = self._base**self.k if self.stride == 1 else 1 << 8
        while (length := parts[-1][0]) * 2 <= self.k and self._base ** (2 * length) <= most:
            half = parts[-1][1]
            doubled = np.multiply(half[:-length], self._base**length, dtype=self._dtype(2 * length))
            doubled += half[length:]
            parts.append((2 * length, doubled))
        return parts

    def _dtype(self, length: int) -> npt.DTypeLike:
        size = self._base**length
        return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.int32

    def _holds_rare(self, rare: npt.NDArray[np.int64], length: int, count: int) -> npt.NDArray[np.bool_]:
        marks = np.zeros(length, dtype=np.bool_)
        marks[rare] = True
        width = 1
        while 2 * width <= self.k:
            marks, width = marks[:-width] | marks[width:], 2 * width
        # Two windows of the largest power of two, overlapping, make up the k-mer.
        return self._every(marks, 0, count) | self._every(marks, self.k - width, count)
