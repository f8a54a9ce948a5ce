"""The mutations that training has seen often enough, as the vocabulary of a task.

Rows hold a code for every mutation of the whole file, so that another split needs no new encoding;
which codes are known is settled by the training records alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrt_cli.data.encoding import FIRST_MUTATION
from incrt_cli.data.task import UNKNOWN
from incrt_cli.data.token_rows import numbers_of

Ints = npt.NDArray[np.int64]
_KEY_SEED = 0


class MutationVocabulary(NamedTuple):
    """`lookup`: code in the rows → token (int32); `mutations`: those of tokens FIRST_MUTATION, …;
    `unknown`, `key`: of each row after the lookup (int64).
    """

    lookup: npt.NDArray[np.int32]
    mutations: list[str]
    unknown: Ints
    key: Ints

    @property
    def size(self) -> int:
        return FIRST_MUTATION + len(self.mutations)


def learn(
    rows: pa.Table, training: npt.NDArray[np.bool_], mutations: Sequence[str], minimum: int
) -> MutationVocabulary:
    """`training` marks the rows (N) to learn from; mutations of fewer than `minimum` of them are unknown."""
    counts = np.zeros(FIRST_MUTATION + len(mutations), dtype=np.int64)
    for values, offsets, first in _chunks(rows):
        lengths = np.diff(offsets)
        wanted = np.repeat(training[first : first + len(lengths)], lengths)
        counts += np.bincount(values[wanted], minlength=len(counts))
    known = counts >= minimum
    known[:FIRST_MUTATION] = True
    lookup = np.where(known, np.cumsum(known) - 1, UNKNOWN).astype(np.int32)
    names = [name for name, kept in zip(mutations, known[FIRST_MUTATION:], strict=True) if kept]
    return MutationVocabulary(lookup, names, *_row_facts(rows, lookup))


def _row_facts(rows: pa.Table, lookup: npt.NDArray[np.int32]) -> tuple[Ints, Ints]:
    """Unknown tokens and a 64-bit key of each row.

    Mutations are in the order of their positions, so a sum of random values tells rows apart as well as
    a hash of the sequence would.
    """
    random = np.random.default_rng(_KEY_SEED).integers(-(2**63), 2**63 - 1, len(lookup), dtype=np.int64)
    unknown: list[Ints] = []
    key: list[Ints] = []
    for values, offsets, _ in _chunks(rows):
        tokens = lookup[values]
        for found, terms in ((unknown, (tokens == UNKNOWN).astype(np.int64)), (key, random[tokens])):
            sums = np.concatenate([[0], np.cumsum(terms)])  # wraps around, and so do the differences
            found.append(sums[offsets[1:]] - sums[offsets[:-1]])
    return _joined(unknown), _joined(key)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _chunks(rows: pa.Table) -> Iterator[tuple[npt.NDArray[np.int32], Ints, int]]:
    """Of each chunk of the file: all its tokens, where each row's begin and end, its first row's number."""
    first = 0
    for chunk in rows.column("tokens").chunks:
        offsets = numbers_of(chunk.offsets).astype(np.int64)
        yield numbers_of(chunk.flatten()), offsets - offsets[0], first
        first += len(chunk)
