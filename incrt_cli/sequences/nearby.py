"""Alignment of a sequence that is close to the reference, many times as fast as by a general aligner.

Words of the reference are looked for where they would stand if nothing had changed. Only what lies
between two words whose distance differs, and the ends where they do not fit, is aligned. Whatever this
does not explain with few, scattered differences is left to the general aligner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

from Bio.Align import PairwiseAligner

from incrt_cli.sequences.blocks import Aligned, Block, in_columns
from incrt_cli.sequences.stitch import scattered

Side = Literal["left", "right"] | None

_WORD = 24
_EVERY = 64
_REACH = 1000  # a gap longer than this is left to the general aligner ...
_MOST_PAIRS = 1 << 20  # ... and so are two stretches whose lengths multiply to more
_PROBES = 8  # words of which one must be found before all are looked for


class NearbyAligner:
    """Aligns nucleotides to `reference`; `unknown` is the letter that differs from none."""

    def __init__(self, reference: bytes, unknown: bytes) -> None:
        self._reference, self._unknown = reference, unknown
        words = [reference[at : at + _WORD] for at in range(len(reference) - _WORD + 1)]
        times = Counter(words)
        self._words = [(at, words[at]) for at in range(0, len(words), _EVERY) if times[words[at]] == 1]
        self._probes = [word for _, word in self._words[:: len(self._words) // _PROBES + 1]]

    def align(self, query: bytes) -> Aligned | None:
        """`query` (without gaps) in the reference's columns, or None when it is not clearly close."""
        if not any(word in query for word in self._probes):
            return None
        found = list(self._found(query))
        if any(_too_far(before, block) for before, block in pairwise(found)):
            return None
        blocks = self._start(found[0], query)
        for block in found[1:]:
            blocks += [*self._pairs(None, blocks[-1].ends, (block.reference, block.query), query), block]
        blocks += self._end(blocks[-1], query)
        aligned = in_columns(blocks, query, self._reference, self._unknown)
        clear = scattered(aligned.columns, self._reference, self._unknown) and self._complete(aligned, query)
        return aligned if clear else None

    def _complete(self, aligned: Aligned, query: bytes) -> bool:
        """Whether all letters of `query` are placed, but for a few beyond the reference's ends."""
        missing = aligned.columns.count(b"-") + aligned.columns.count(self._unknown)
        placed = len(aligned.columns) - missing + sum(len(letters) for _, letters in aligned.insertions)
        return len(query) - query.count(self._unknown) - placed <= _EVERY

    def _found(self, query: bytes) -> Iterator[Block]:
        """What lies between the first and the last word at one distance, for each distance in turn."""
        start = end = distance = -1
        for at, word in self._words:
            if end < 0:
                place = query.find(word)
            elif query.startswith(word, at + distance):
                end = at + _WORD
                continue
            else:
                place = query.find(word, max(end, at - _REACH) + distance, at + distance + _REACH)
            if place < 0:
                continue
            if end >= 0:
                yield Block(start, start + distance, end - start)
            start, end, distance = at, at + _WORD, place - at
        if end >= 0:
            yield Block(start, start + distance, end - start)

    def _start(self, block: Block, query: bytes) -> list[Block]:
        whole = block.grown(min(block.reference, block.query))
        if scattered(query[whole.query : block.query], self._reference[whole.reference :], self._unknown):
            return [whole]
        near = (max(block.reference - _REACH, 0), max(block.query - _REACH, 0))
        return [*self._pairs("left", near, (block.reference, block.query), query), block]

    def _end(self, block: Block, query: bytes) -> list[Block]:
        (reference_end, query_end) = block.ends
        length = min(len(self._reference) - reference_end, len(query) - query_end)
        own, opposite = query[query_end : query_end + length], self._reference[reference_end:]
        if scattered(own, opposite, self._unknown):
            return [Block(reference_end, query_end, length)]
        return self._pairs("right", block.ends, (reference_end + _REACH, query_end + _REACH), query)

    def _pairs(self, free: Side, start: tuple[int, int], end: tuple[int, int], query: bytes) -> list[Block]:
        """The best alignment of what lies from `start` to `end` on both sequences."""
        opposite, own = self._reference[start[0] : end[0]], query[start[1] : end[1]]
        if not opposite or not own:
            return []
        runs = _runs(opposite, own, self._unknown, free)
        return [Block(start[0] + at, start[1] + query_at, length) for at, query_at, length in runs]


def _too_far(before: Block, block: Block) -> bool:
    reference_end, query_end = before.ends
    return (block.reference - reference_end) * (block.query - query_end) > _MOST_PAIRS


# The same gaps come again in sequence after sequence of a population.
@lru_cache(maxsize=4096)
def _runs(opposite: bytes, own: bytes, unknown: bytes, free: Side) -> list[tuple[int, int, int]]:
    aligned = _aligner(unknown, free).align(opposite, own)[0].aligned  # type: ignore[no-untyped-call]
    return [(int(at), int(own_at), int(end - at)) for (at, end), (own_at, _) in zip(*aligned, strict=True)]


@cache
def _aligner(unknown: bytes, free: Side) -> PairwiseAligner:
    """The costs that minimap2 is given, those of a long gap aside; gaps at the `free` end cost nothing."""
    aligner = PairwiseAligner(  # type: ignore[no-untyped-call]
        mode="global",
        match_score=1,
        mismatch_score=-4,
        open_gap_score=-8,
        extend_gap_score=-2,
        wildcard=unknown.decode(),
    )
    for kind in ("insertion", "deletion") if free else ():
        setattr(aligner, f"{free}_{kind}_score", 0)
    return aligner
