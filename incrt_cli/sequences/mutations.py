"""What differs from the reference, in Nextclade's notation."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrt_cli.sequences.alphabet import Alphabet
from incrt_cli.sequences.blocks import Aligned
from incrt_cli.sequences.genes import Region
from incrt_cli.sequences.reference import Reference

Range = tuple[int, int]


class Differences(NamedTuple):
    """mutations: in the order of the reference. `C241T`: a letter for another; `21765-21770`, or `28271`
        for one: deleted; `22204:GAG`: inserted after 22204.
    unknown: 1-based inclusive ranges of which nothing is known: unknown letters, codes, uncovered ends.
    """

    mutations: list[str]
    unknown: list[Range]


def differences(
    aligned: Aligned, reference: Reference, region: Region | None, alphabet: Alphabet
) -> Differences:
    """The differences of `aligned` within `region`, counted on the whole reference.

    Parts that overlap, as at a ribosomal frameshift, give what both hold once.
    """
    columns = np.frombuffer(aligned.columns, dtype=np.uint8)
    inside = _inside(len(columns), region)
    known = np.frombuffer(aligned.columns.translate(_is_letter(alphabet)), dtype=np.bool_) & inside
    changed = known & (columns != np.frombuffer(reference.sequence, dtype=np.uint8))
    deleted = (columns == ord("-")) & inside
    # Sorted by position; what is inserted after a position follows what becomes of that position.
    found = [(int(at) + 1, 0, _substitution(int(at), aligned, reference)) for at in np.flatnonzero(changed)]
    found += [(start, 0, _range(start, end)) for start, end in _runs(deleted)]
    found += [
        (after, 1, f"{after}:{letters.decode()}")
        for after, letters in aligned.insertions
        if _within(after, region)
    ]
    return Differences([text for *_, text in sorted(found)], _runs(inside & ~known & ~deleted))


@cache
def _is_letter(alphabet: Alphabet) -> bytes:
    return bytes(code in alphabet.letters for code in range(256))


def _inside(length: int, region: Region | None) -> npt.NDArray[np.bool_]:
    inside = np.full(length, region is None)
    for start, end in region.parts if region else ():
        inside[start - 1 : end] = True
    return inside


def _within(after: int, region: Region | None) -> bool:
    """Whether an insertion lies between two positions of one part."""
    return region is None or any(start <= after < end for start, end in region.parts)


def _substitution(at: int, aligned: Aligned, reference: Reference) -> str:
    return f"{reference.sequence[at]:c}{at + 1}{aligned.columns[at]:c}"


def _range(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"


def _runs(mask: npt.NDArray[np.bool_]) -> list[Range]:
    """1-based inclusive ranges where `mask` holds."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False)).tolist()
    return [(start + 1, end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
