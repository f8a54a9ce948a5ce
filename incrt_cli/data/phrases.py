"""Which texts are phrases of others, and held-out parts that leave none of their phrases behind.

SST-2's training rows are sentences and phrases cut from them: a random cut would validate on
sentences whose phrases were trained on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]
SHORTEST = 3  # words; shorter phrases occur everywhere and may stay in training
STAYS = -1
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_WORD_SEED = 0


class _SpanHashes:
    """Hashes of any span of words in O(1): a prefix sum of wordᵢ · baseⁱ modulo 2^64, shifted back."""

    def __init__(self, texts: Sequence[str]) -> None:
        words = [text.split() for text in texts]
        self.lengths: Ints = np.array([len(text) for text in words], dtype=np.int64)
        self.starts: Ints = np.cumsum(self.lengths) - self.lengths
        flat = np.array([word for text in words for word in text], dtype=object)
        codes, distinct = pd.factorize(flat)
        # Random values for words: with the codes themselves, sums of different spans would meet.
        random = np.random.default_rng(_WORD_SEED).integers(0, 2**64, len(distinct), dtype=np.uint64)
        terms = random[codes] * _powers(_BASE, len(flat))
        self._sums: Hashes = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        self._shift = _powers(pow(_BASE, -1, 2**64), len(flat) + 1)

    def of(self, starts: Ints, length: int) -> Hashes:
        return (self._sums[starts + length] - self._sums[starts]) * self._shift[starts]


def _powers(base: int, count: int) -> Hashes:
    factors = np.full(count, base, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)


def containment(texts: Sequence[str]) -> tuple[Ints, Ints]:
    """Every (inner, outer) pair of `texts` (all different) where inner's words are a proper run of outer's.

    Positions that no longer begin any text are dropped as the length grows, so that time is about
    proportional to the number of words.
    """
    spans = _SpanHashes(texts)
    owner = np.repeat(np.arange(len(texts)), spans.lengths)
    position = np.arange(len(owner))
    left = (spans.starts + spans.lengths)[owner] - position
    inner: list[Ints] = []
    outer: list[Ints] = []
    # A phrase is shorter than its text. Without this bound one huge cell of a repeated word costs the
    # square of its words, each of its positions matching its own beginning.
    longest = int(spans.lengths.max(initial=0))
    for length in range(1, int(spans.lengths[spans.lengths < longest].max(initial=0)) + 1):
        heads = np.flatnonzero(spans.lengths >= length)
        alive = left >= length
        alive[alive] = np.isin(spans.of(position[alive], length), spans.of(spans.starts[heads], length))
        position, owner, left = position[alive], owner[alive], left[alive]
        whole = np.flatnonzero(spans.lengths == length)
        found, place = _look_up(spans.of(position, length), spans.of(spans.starts[whole], length))
        proper = whole[place] != owner[found]
        inner.append(whole[place][proper])
        outer.append(owner[found][proper])
    return _joined(inner), _joined(outer)


def _look_up(values: Hashes, table: Hashes) -> tuple[Ints, Ints]:
    """Indices into `values` that occur in `table`, and where in `table`."""
    order = np.argsort(table)
    if not len(table):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = np.minimum(np.searchsorted(table[order], values), len(table) - 1)
    found = np.flatnonzero(table[order][place] == values)
    return found, order[place[found]]


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def hold_out(texts: Sequence[str], labels: Ints, rows: Ints, shares: Sequence[float], seed: int) -> Ints:
    """Choose whole texts, with all their phrases of SHORTEST words or more, for about `shares` of the rows.

    `texts`: N different texts; `labels`: their classes; `rows`: how often each occurs. A text that
    is no phrase of another is drawn at random, class by class in proportion. Returns, for each
    text, the index of the share it is held out for, or STAYS.
    """
    inner, outer = containment(texts)
    long = np.array([len(text.split()) >= SHORTEST for text in texts])
    whole = np.ones(len(texts), dtype=bool)
    whole[inner] = False
    turn = np.full(len(texts), np.inf)  # when a text would be held out, if drawing went on
    turn[whole] = _stratified_order(labels[whole], seed)
    carried = long[inner] & whole[outer]
    np.minimum.at(turn, inner[carried], turn[outer[carried]])
    part = np.full(len(texts), STAYS, dtype=np.int64)
    begin = -1.0
    for number, end in enumerate(_turns_reaching(turn, rows, np.cumsum(shares) * rows.sum())):
        part[(turn > begin) & (turn <= end)] = number
        begin = max(begin, end)
    return part


def _turns_reaching(turn: Floats, rows: Ints, targets: Floats) -> Floats:
    """The turn after which the rows held out are nearest to each target; -1 where none should be yet."""
    drawn = np.flatnonzero(np.isfinite(turn))
    turns, place = np.unique(turn[drawn], return_inverse=True)
    # A text and its phrases have one turn: they go together or not at all.
    reached = np.concatenate([[0.0], np.cumsum(np.bincount(place, weights=rows[drawn]))])
    nearest = np.abs(reached[None, :] - targets[:, None]).argmin(axis=1)
    ends: Floats = np.concatenate([[-1.0], turns])[nearest]
    return ends


def _stratified_order(labels: Ints, seed: int) -> Ints:
    """A random order (0, 1, …) in which every beginning has the classes in about their proportions."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    place = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    fraction = (place + 0.5) / np.repeat(counts, counts)
    order = np.empty(len(labels), dtype=np.int64)
    order[by_class[np.argsort(fraction, kind="stable")]] = np.arange(len(labels))
    return order
