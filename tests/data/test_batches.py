"""Every row once, like lengths together, and nothing but the arguments decides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.batches import batches_within, epoch_batches, padding_share, sequential_batches

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

    assert 0.0 < padding_share(lengths, sequential_batches(lengths, 32)) < 0.02
    assert padding_share(lengths, epoch_batches(lengths, 32, 0, 0)) < 0.02
    shuffled = np.random.default_rng(1).permutation(5000).reshape(-1, 40)
    assert padding_share(lengths, list(shuffled)) > 0.3
    short_first = [lengths[batch].max() for batch in epoch_batches(lengths, 32, 0, 0)]
    assert short_first != sorted(short_first)


def test_padding_is_counted_by_position() -> None:
    lengths = np.array([1, 3, 2, 2])
    assert padding_share(lengths, [np.array([0, 1]), np.array([2, 3])]) == 1 - 8 / 10
    assert padding_share(lengths, []) == padding_share(lengths, [np.array([2])]) == 0.0


def test_rows_of_one_length_meet_in_random_order() -> None:
    """However large the pool: what stands next to a row of like length is drawn anew every epoch."""
    lengths = np.repeat([4, 9], 400)
    epochs = [epoch_batches(lengths, 10, 0, epoch) for epoch in (0, 1)]
    pairs = [{(a, b) for batch in epoch for a in batch for b in batch if a < b} for epoch in epochs]
    assert len(pairs[0] & pairs[1]) < 0.1 * len(pairs[0])


@given(lengths=lengths, positions=st.integers(1, 200))
def test_batches_within_hold_every_row_once_and_no_more_positions(
    lengths: np.ndarray, positions: int
) -> None:
    batches = batches_within(lengths, positions)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * lengths[batch].max() <= positions for batch in batches)
