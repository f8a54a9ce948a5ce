"""The two alphabets that sequences are written in, and what a sequence holds beside its letters."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

WHITE_SPACE = b" \t\n\r\v\f"
GAPS = b"-."
NOT_TEXT = 0  # what the reader's table makes of control bytes and of bytes beyond ASCII
_UNKNOWN, _CODE, _GAP, _OTHER = range(252, 256)  # above the digits of any alphabet


@dataclass(frozen=True)
class Alphabet:
    """Letters in the order of their k-mer digits, and how bytes of a file are turned into them.

    `table` is for `bytes.translate`: upper case, U as T for nucleotides, bytes that are no text as
    `NOT_TEXT`. `stop`, where there is one, is the letter that ends a sequence without being part of it.
    """

    name: str
    letters: bytes
    unknown: bytes
    codes: bytes
    table: bytes
    stop: bytes = b""


class Coded(NamedTuple):
    """`digits`: the place of each letter in `Alphabet.letters`, or a higher number for what is none of them;
    `rare`: where that is so, in ascending order.
    """

    digits: npt.NDArray[np.uint8]
    rare: npt.NDArray[np.int64]


class Composition(NamedTuple):
    """Counts of one sequence's letters; they add up to its length.

    `codes` are IUPAC's codes for several letters or rare ones, `other` is everything else.
    """

    letters: int
    unknown: int
    codes: int
    gaps: int
    other: int


def _table(replaced: dict[int, int]) -> bytes:
    text = {ord(character) for character in string.printable}
    upper = bytes(code if code in text else NOT_TEXT for code in range(256)).upper()
    return bytes(replaced.get(code, code) for code in upper)


NUCLEOTIDE = Alphabet("nucleotide", b"ACGT", b"N", b"RYSWKMBDHV", _table({ord("U"): ord("T")}))
PROTEIN = Alphabet("protein", b"ACDEFGHIKLMNPQRSTVWY", b"X", b"BJZOU", _table({}), stop=b"*")


def code(sequence: bytes, alphabet: Alphabet) -> Coded:
    """`sequence` as the reader gives it, ready to be counted and cut into k-mers."""
    digits = np.frombuffer(sequence.translate(_code_table(alphabet)), dtype=np.uint8)
    return Coded(digits, np.flatnonzero(digits >= len(alphabet.letters)))


def composition(coded: Coded) -> Composition:
    """What a coded sequence is made of."""
    # Only what is rare is counted by kind: a count of each letter would cost a pass apiece.
    kinds = np.bincount(coded.digits[coded.rare], minlength=256)[_UNKNOWN:].tolist()
    return Composition(len(coded.digits) - len(coded.rare), *kinds)


@cache
def _code_table(alphabet: Alphabet) -> bytes:
    table = bytearray([_OTHER]) * 256
    for letters, kind in ((alphabet.unknown, _UNKNOWN), (alphabet.codes, _CODE), (GAPS, _GAP)):
        for letter in letters:
            table[letter] = kind
    for digit, letter in enumerate(alphabet.letters):
        table[letter] = digit
    return bytes(table)
