"""Alignments as runs of paired positions, put into one canonical form and written out in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Block(NamedTuple):
    """`length` letters of the query from `query` on, opposite the reference from `reference` on (from 0).

    `joined`: what lies between the block before and this one is known to be deleted or inserted.
    """

    reference: int
    query: int
    length: int
    joined: bool = True

    @property
    def ends(self) -> tuple[int, int]:
        return self.reference + self.length, self.query + self.length

    def grown(self, left: int, right: int = 0) -> Block:
        """Longer by `left` and `right` pairs, or shorter where they are negative."""
        return Block(self.reference - left, self.query - left, self.length + left + right, self.joined)


class Aligned(NamedTuple):
    """A sequence in the columns of a reference.

    columns: one letter for each reference position: the sequence's own, '-' where it is deleted, the
        unknown letter where nothing is aligned.
    insertions: (1-based reference position before it, letters).
    reverse: the columns are those of the reverse complement.
    """

    columns: bytes
    insertions: tuple[tuple[int, bytes], ...] = ()
    reverse: bool = False


def left_aligned(blocks: Sequence[Block], query: bytes, reference: bytes) -> list[Block]:
    """The same alignment with every deletion and insertion as far left as it scores the same.

    In a repeat the place of a gap is arbitrary: one choice makes equal sequences equal columns.
    """
    placed = [blocks[0]]
    for block in blocks[1:]:
        reference_end, query_end = placed[-1].ends
        most = placed[-1].length - 1
        shift = 0
        if block.query == query_end:
            shift = _common_suffix(reference, reference_end, block.reference, most)
        elif block.reference == reference_end:
            shift = _common_suffix(query, query_end, block.query, most)
        placed[-1] = placed[-1].grown(0, -shift)
        placed.append(block.grown(shift))
    return placed


def _merged(blocks: Sequence[Block]) -> list[Block]:
    """Blocks with nothing between them as one, so that a gap can move across where they met."""
    merged = [blocks[0]]
    for block in blocks[1:]:
        if block[:2] == merged[-1].ends:
            merged[-1] = merged[-1].grown(0, block.length)
        else:
            merged.append(block)
    return merged


def _common_suffix(sequence: bytes, end: int, other_end: int, most: int) -> int:
    length = 0
    while length < most and sequence[end - 1 - length] == sequence[other_end - 1 - length]:
        length += 1
    return length


def in_columns(
    blocks: Sequence[Block], query: bytes, reference: bytes, unknown: bytes, reverse: bool = False
) -> Aligned:
    """Write `blocks` out. A gap beside an unknown letter is unknown: few runs of N have the true length."""
    blocks = left_aligned(_merged(blocks), query, reference)
    columns = bytearray(unknown * len(reference))
    for block in blocks:
        columns[block.reference : block.ends[0]] = query[block.query : block.ends[1]]
    insertions = []
    for before, block in pairwise(blocks):
        start, query_end = before.ends
        # The inserted letters with one on each side of them.
        if not block.joined or unknown in query[query_end - 1 : block.query + 1]:
            continue
        columns[start : block.reference] = b"-" * (block.reference - start)
        if block.query > query_end:
            insertions.append((start, query[query_end : block.query]))
    return Aligned(bytes(columns), tuple(insertions), reverse)
