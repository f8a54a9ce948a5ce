"""Scores against figures worked by hand; windows of a record count once."""

from __future__ import annotations

import numpy as np
import pytest

from incrt_cli.training.evaluation import aggregate, class_scores, macro_f1


def test_precision_recall_f1_and_support() -> None:
    truth, predicted = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 0, 0])
    a, b, c, d = class_scores(truth, predicted, ["a", "b", "c", "absent"])
    assert (a.precision, a.recall, a.f1, a.support) == pytest.approx((2 / 4, 2 / 3, 4 / 7, 3))
    assert (b.precision, b.recall, b.f1, b.support) == pytest.approx((1 / 2, 1 / 2, 1 / 2, 2))
    assert (c.precision, c.recall, c.f1, c.support) == (0.0, 0.0, 0.0, 1)
    assert d.support == 0
    # A class that the split lacks does not pull the mean down.
    assert macro_f1([a, b, c, d]) == pytest.approx((4 / 7 + 1 / 2 + 0) / 3)


def test_windows_of_a_record_are_averaged_into_one_prediction() -> None:
    log_probs = np.log(np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.4, 0.6]]))
    result = aggregate(
        log_probs,
        labels=np.array([1, 0, 0, 0]),
        records=np.array([7, 3, 3, 3]),
        seen=np.array([True, True, False, True]),
    )
    # Record 3 first: the mean of three windows prefers class 1, its truth is 0.
    assert result.truth.tolist() == [0, 1] and result.predicted.tolist() == [1, 0]
    assert result.nll[0] == pytest.approx(-np.log([0.3, 0.2, 0.4]).mean())
    assert result.seen.tolist() == [False, True]
    assert result.accuracy == 0.0
