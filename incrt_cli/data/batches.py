"""Which rows make a batch: pure functions of their arguments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_POOL_BATCHES = 50


def epoch_batches(lengths: Ints, batch_size: int, seed: int, epoch: int) -> list[Ints]:
    """Row indices of one epoch's batches; every row of `lengths` (N) is in exactly one.

    Shuffled, with rows of like length together so that little is padding: rows are sorted by
    length within random pools of 50 batches, and the batches are then shuffled.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    pool = _POOL_BATCHES * batch_size
    batches: list[Ints] = []
    for start in range(0, len(order), pool):
        rows = order[start : start + pool]
        # Stable: rows of one length, such as all genomes of a region, stay in random order.
        rows = rows[np.argsort(lengths[rows], kind="stable")]
        batches += _cut(rows, batch_size)
    return [batches[i] for i in rng.permutation(len(batches))]


def sequential_batches(lengths: Ints, batch_size: int) -> list[Ints]:
    """For evaluation: all rows once, sorted by length."""
    return _cut(np.argsort(lengths, kind="stable"), batch_size)


def _cut(rows: Ints, batch_size: int) -> list[Ints]:
    return [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]
