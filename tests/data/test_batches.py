"""Every row once, like lengths together, and nothing but the arguments decides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.batches import epoch_batches, sequential_batches

lengths = st.lists(st.integers(1, 50), max_size=300).map(lambda values: np.array(values, dtype=np.int64))


@given(lengths=lengths, size=st.integers(1, 9), epoch=st.integers(0, 3))
def test_every_row_is_in_one_batch(lengths: np.ndarray, size: int, epoch: int) -> None:
    for batches in (epoch_batches(lengths, size, 0, epoch), sequential_batches(lengths, size)):
        assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
        assert all(1 <= len(batch) <= size for batch in batches)
        assert sum(len(batch) < size for batch in batches) <= 1


def test_an_epoch_is_fixed_by_seed_and_number() -> None:
    lengths = np.arange(1, 101)

    def order(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in epoch_batches(lengths, 8, seed, epoch)]

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


def test_little_of_a_batch_is_padding() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 5000)

    def padded(batches: list[np.ndarray]) -> float:
        return sum(int(lengths[batch].max()) * len(batch) for batch in batches) / lengths.sum() - 1

    assert padded(epoch_batches(lengths, 32, 0, 0)) < 0.05
    assert padded(sequential_batches(lengths, 32)) < 0.02
    short_first = [lengths[batch].max() for batch in epoch_batches(lengths, 32, 0, 0)]
    assert short_first != sorted(short_first)
