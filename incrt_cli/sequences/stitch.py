"""From the hits of one sequence on one strand to one alignment from end to end.

A run of N splits an alignment, and an aligner clips ends with a mismatch near them; what it left out
is compared directly here, letter by letter at equal distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from incrt_cli.sequences.blocks import Block

# Letters left out are taken in when at most this many and this share of them differ: a strand of
# unrelated letters differs in three of four.
_FREE_MISMATCHES = 2
_MISMATCH_SHARE = 0.25
# An aligner with the usual costs may prefer two gaps to more differences than this, this close together.
_MOST_DIFFERENT, _CLOSE = 4, 16


def collinear(hits: Iterable[Sequence[Block]]) -> list[Block]:
    """The blocks of those hits that follow one another on both sequences, the longest hits first.

    The first block of each hit but the first is not joined to what precedes it.
    """
    kept: list[Sequence[Block]] = []
    for hit in sorted(hits, key=lambda hit: -sum(block.length for block in hit)):
        if all(_apart(hit, other) for other in kept):
            kept.append(hit)
    blocks: list[Block] = []
    for hit in sorted(kept, key=lambda hit: hit[0]):
        blocks += [block._replace(joined=i > 0) for i, block in enumerate(_after(blocks, hit))]
    return blocks


def _apart(hit: Sequence[Block], other: Sequence[Block]) -> bool:
    """Whether the two follow one another on both sequences, though they may overlap."""
    first, second = sorted((hit, other), key=lambda hit: hit[0])
    return (
        first[-1].ends[0] < second[-1].ends[0]
        and first[0].query < second[0].query
        and first[-1].ends[1] < second[-1].ends[1]
    )


def _after(blocks: Sequence[Block], hit: Sequence[Block]) -> list[Block]:
    """`hit` without the pairs whose letters `blocks` have used already."""
    reference_end, query_end = blocks[-1].ends if blocks else (0, 0)
    cut = (block.grown(-max(reference_end - block.reference, query_end - block.query, 0)) for block in hit)
    return [block for block in cut if block.length > 0]


def filled(blocks: Sequence[Block], query: bytes, reference: bytes, unknown: bytes) -> list[Block]:
    """`blocks` grown into the letters that no hit holds: at both ends, and between two hits."""
    whole = [_to_start(blocks[0], query, reference, unknown)]
    for block in blocks[1:]:
        whole += [block] if block.joined else _joined(whole.pop(), block, query, reference, unknown)
    whole[-1] = _to_end(whole[-1], query, reference, unknown)
    return whole


def _joined(before: Block, block: Block, query: bytes, reference: bytes, unknown: bytes) -> list[Block]:
    (reference_end, query_end) = before.ends
    missing, left = block.reference - reference_end, block.query - query_end
    if missing == left and alike(query[query_end : block.query], reference[reference_end:], unknown):
        return [Block(before.reference, before.query, before.length + left + block.length, before.joined)]
    if not left or not missing:
        return [before, block._replace(joined=True)]
    known = query[query_end : block.query].find(unknown)
    fits = 0 < known <= missing and alike(query[query_end:][:known], reference[reference_end:], unknown)
    return [before.grown(0, known if fits else 0), block]


def _to_start(block: Block, query: bytes, reference: bytes, unknown: bytes) -> Block:
    length = min(block.query, block.reference)
    own, opposite = query[: block.query], reference[: block.reference]
    fits = alike(own[len(own) - length :], opposite[len(opposite) - length :], unknown)
    return block.grown(length if fits else 0)


def _to_end(block: Block, query: bytes, reference: bytes, unknown: bytes) -> Block:
    reference_end, query_end = block.ends
    length = min(len(query) - query_end, len(reference) - reference_end)
    own = query[query_end : query_end + length]
    return block.grown(0, length if alike(own, reference[reference_end:], unknown) else 0)


def alike(own: bytes, opposite: bytes, unknown: bytes) -> bool:
    """Whether the letters of `own` may be paired with the first ones of `opposite` as they stand."""
    known = len(own) - own.count(unknown)
    mismatches = int(different(own, opposite, unknown).sum())
    return mismatches <= _FREE_MISMATCHES + _MISMATCH_SHARE * known


def scattered(own: bytes, opposite: bytes, unknown: bytes) -> bool:
    """Whether the letters of `own` that differ are few wherever one looks; gaps do not count."""
    places = np.flatnonzero(different(own, opposite, unknown + b"-"))
    return not (places[_MOST_DIFFERENT:] - places[:-_MOST_DIFFERENT] < _CLOSE).any()


def different(own: bytes, opposite: bytes, passed: bytes) -> npt.NDArray[np.bool_]:
    """Where `own` differs from as many letters of `opposite`; its letters in `passed` never do."""
    letters = np.frombuffer(own, dtype=np.uint8)
    unequal: npt.NDArray[np.bool_] = letters != np.frombuffer(opposite[: len(own)], dtype=np.uint8)
    for letter in passed:
        unequal &= letters != letter
    return unequal
