"""Stratified, seeded splits in which exact duplicates stay together. Pure functions of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrt_cli.data.task import SPLITS, SplitName
from incrt_cli.errors import UserError

Ints = npt.NDArray[np.int64]
TRAIN, VALIDATION, TEST = range(len(SPLITS))
LEFT_OUT = -1


class Duplicates(NamedTuple):
    """`repeats`: records that repeat an earlier one; `conflicting`: those whose twins have another label."""

    repeats: int
    conflicting: int


def count_duplicates(digests: Ints, labels: Ints) -> Duplicates:
    _, group = np.unique(digests, return_inverse=True)
    pairs = np.unique(np.stack([group, labels], axis=1), axis=0)
    labels_per_group = np.bincount(pairs[:, 0], minlength=group.max(initial=-1) + 1)
    repeats = len(digests) - len(labels_per_group)
    return Duplicates(repeats, int(np.count_nonzero(labels_per_group[group] > 1)))


def large_classes(labels: Ints, names: list[str], minimum: int) -> tuple[Ints, list[str], dict[str, int]]:
    """Relabel to the classes of at least `minimum` records, in order of name.

    Returns the new labels (LEFT_OUT for records of smaller classes or left out before), the names, and
    the size of each class left out. Raises UserError when fewer than two classes remain.
    """
    counts = np.bincount(labels[labels != LEFT_OUT], minlength=len(names))
    kept = sorted((code for code in range(len(names)) if counts[code] >= minimum), key=names.__getitem__)
    if len(kept) < 2:
        sizes = ", ".join(f"{names[code]} ({counts[code]:,})" for code in np.argsort(-counts)[:5])
        raise UserError(
            f"a classification needs two classes; {len(kept)} of {len(names):,} have at least "
            f"data.min_class_size = {minimum:,} records. The largest: {sizes or 'none'}"
        )
    relabel = np.full(len(names), LEFT_OUT, dtype=np.int64)
    relabel[kept] = np.arange(len(kept))
    small = {names[code]: int(counts[code]) for code in range(len(names)) if 0 < counts[code] < minimum}
    by_size = sorted(small.items(), key=lambda item: (-item[1], item[0]))
    return (
        np.where(labels == LEFT_OUT, LEFT_OUT, relabel[labels]),
        [names[code] for code in kept],
        dict(by_size),
    )


def assign(labels: Ints, digests: Ints, validation: float, test: float, seed: int) -> Ints:
    """The split (TRAIN, VALIDATION or TEST) of each of N records.

    Records with one digest go together, by the label of the first. In every class the shares are
    met to within a record and a duplicate group, and at least one group trains.
    """
    if validation + test >= 1:
        raise UserError(
            f"data.validation_fraction {validation} and data.test_fraction {test} leave nothing to train on"
        )
    # Whole groups are drawn, so duplicates cannot straddle a split.
    _, first, group, sizes = np.unique(digests, return_index=True, return_inverse=True, return_counts=True)
    classes = labels[first]
    for_test, for_validation = _quotas(classes, sizes, test, validation)
    # Groups larger than a class's shares come last, so that they train and leave room for others.
    large = sizes > np.maximum(for_test, for_validation)[classes]
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    order = np.lexsort((shuffled, large, classes))
    end = np.cumsum(sizes[order])
    totals = np.bincount(classes, weights=sizes).astype(np.int64)
    end -= (np.cumsum(totals) - totals)[classes[order]]
    tested = end <= for_test[classes[order]]
    validated = ~tested & (end <= (for_test + for_validation)[classes[order]])
    split = np.empty(len(sizes), dtype=np.int64)
    split[order] = np.select([tested, validated], [TEST, VALIDATION], TRAIN)
    return split[group]


def _quotas(classes: Ints, sizes: Ints, test: float, validation: float) -> tuple[Ints, Ints]:
    """Records of each class for the test and the validation split."""
    totals = np.bincount(classes, weights=sizes)
    # Rounding the running total, not each class, keeps the overall share right with many small classes.
    ends = np.floor(np.cumsum(totals) * test + 0.5).astype(np.int64)
    for_test = np.minimum(np.diff(ends, prepend=0), np.maximum(totals.astype(np.int64) - 1, 0))
    ends = np.floor(np.cumsum(totals) * validation + 0.5).astype(np.int64)
    # One record of every class is left to train on before anything is held out.
    room = np.maximum(totals.astype(np.int64) - 1 - for_test, 0)
    return for_test, np.minimum(np.diff(ends, prepend=0), room)


def permuted(labels: Ints, split: Ints, seed: int) -> Ints:
    """Labels shuffled within each split.

    The test split's too: where records form few clusters, what a model answers for each of them is right
    or wrong for the whole cluster, and accuracy against true labels would be far from chance by chance.
    """
    shuffled = labels.copy()
    for number in range(len(SPLITS)):
        members = np.flatnonzero(split == number)
        rng = np.random.default_rng([seed, number])
        shuffled[members] = rng.permutation(labels[members])
    return shuffled


def require_filled(sizes: Mapping[SplitName, int]) -> None:
    """UserError for a split that should have records and has none."""
    empty = [name for name, size in sizes.items() if not size]
    if empty:
        raise UserError(
            f"no record is left for the {' and '.join(empty)} split (records: {dict(sizes)}): "
            "give more records, a larger fraction or a smaller data.min_class_size"
        )
