"""Splits: stratified, seeded, and no duplicate on two sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.split import (
    LEFT_OUT,
    TEST,
    TRAIN,
    VALIDATION,
    assign,
    count_duplicates,
    large_classes,
    permuted,
    require_filled,
)
from incrt_cli.errors import UserError

records = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), min_size=1, max_size=120)
fractions = st.sampled_from([0.0, 0.1, 0.25, 0.4])


@given(records=records, validation=fractions, test=fractions, seed=st.integers(0, 5))
def test_no_duplicate_straddles_and_every_class_trains(
    records: list[tuple[int, int]], validation: float, test: float, seed: int
) -> None:
    # Digests name the class too, so that here twins agree on it.
    labels = np.array([label for label, _ in records])
    digests = np.array([1000 * label + digest for label, digest in records])
    split = assign(labels, digests, validation, test, seed)
    for digest in set(digests.tolist()):
        assert len(set(split[digests == digest].tolist())) == 1
    for label in set(labels.tolist()):
        assert TRAIN in split[labels == label]
    assert test > 0 or TEST not in split
    assert validation > 0 or VALIDATION not in split
    assert (split == assign(labels, digests, validation, test, seed)).all()


@given(sizes=st.lists(st.integers(2, 60), min_size=2, max_size=12), seed=st.integers(0, 5))
def test_without_duplicates_every_class_gets_its_share_to_within_a_record(
    sizes: list[int], seed: int
) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    split = assign(labels, np.arange(len(labels)), 0.1, 0.2, seed)
    for label, size in enumerate(sizes):
        assert abs(np.count_nonzero(split[labels == label] == TEST) - 0.2 * size) <= 1
        assert abs(np.count_nonzero(split[labels == label] == VALIDATION) - 0.1 * size) <= 1


def test_many_small_classes_together_get_their_share() -> None:
    labels = np.repeat(np.arange(200), 3)
    split = assign(labels, np.arange(600), 0.1, 0.1, 0)
    assert np.bincount(split).tolist() == [480, 60, 60]


def test_a_large_group_of_duplicates_does_not_empty_the_test_split() -> None:
    digests = np.array([7] * 50 + list(range(100, 150)))
    for seed in range(20):
        split = assign(np.zeros(100, dtype=np.int64), digests, 0.1, 0.1, seed)
        assert np.bincount(split).tolist() == [80, 10, 10]
        assert set(split[:50]) == {TRAIN}


def test_another_seed_gives_another_split() -> None:
    labels, digests = np.zeros(50, dtype=np.int64), np.arange(50)
    assert (assign(labels, digests, 0.2, 0.2, 0) != assign(labels, digests, 0.2, 0.2, 1)).any()


def test_fractions_that_leave_no_training_data_are_refused() -> None:
    with pytest.raises(UserError, match="leave nothing to train on"):
        assign(np.zeros(9, dtype=np.int64), np.arange(9), 0.5, 0.5, 0)


def test_repeats_and_twins_with_another_label_are_counted() -> None:
    digests, labels = np.array([1, 1, 1, 2, 3, 3]), np.array([0, 0, 0, 1, 0, 1])
    assert count_duplicates(digests, labels) == (3, 2)
    assert count_duplicates(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) == (0, 0)


def test_small_classes_are_left_out_and_the_rest_is_in_order_of_name() -> None:
    labels, names, small = large_classes(np.array([0, 0, 1, 2, 2, 3]), ["b", "once", "a", "rare"], 2)
    assert names == ["a", "b"]
    assert labels.tolist() == [1, 1, LEFT_OUT, 0, 0, LEFT_OUT]
    assert small == {"once": 1, "rare": 1}


def test_one_class_is_no_classification() -> None:
    with pytest.raises(UserError, match=r"1 of 2 have at least data.min_class_size = 2.*a \(3\), b \(1\)"):
        large_classes(np.array([0, 0, 0, 1]), ["a", "b"], 2)


def test_permuting_keeps_the_class_counts_of_each_split() -> None:
    labels, split = np.arange(90) % 3, np.repeat([TRAIN, VALIDATION, TEST], 30)
    shuffled = permuted(labels, split, 0)
    for part in (TRAIN, VALIDATION, TEST):
        assert (shuffled[split == part] != labels[split == part]).any()
        assert (np.bincount(shuffled[split == part]) == 10).all()
    assert (shuffled == permuted(labels, split, 0)).all()


def test_an_empty_split_is_an_error() -> None:
    with pytest.raises(UserError, match="no record is left for the validation and test split"):
        require_filled({"train": 3, "validation": 0, "test": 0})
