"""Rank correlations, means and their intervals, held against scipy and against known cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from incrt_cli.diagnosis.statistics import mean_difference, mean_interval, rank_correlation


def test_rho_is_spearmans_also_with_ties() -> None:
    a, b = [1.0, 2.0, 2.0, 5.0, 4.0, 9.0], [3.0, 1.0, 4.0, 4.0, 8.0, 7.0]
    found = rank_correlation(a, b)
    assert found.n == 6 and found.rho == pytest.approx(spearmanr(a, b).statistic)


def test_any_increasing_relation_is_a_full_correlation() -> None:
    a = np.arange(8.0)
    found = rank_correlation(a, np.exp(a))
    assert (found.rho, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0)) and found.p < 0.01
    assert rank_correlation(a, -a).rho == pytest.approx(-1.0)


def test_unrelated_scores_are_seldom_called_related() -> None:
    rng = np.random.default_rng(0)
    found = [rank_correlation(*rng.standard_normal((2, 8))) for _ in range(100)]
    assert sum(one.p < 0.05 for one in found) <= 12
    assert sum(one.low <= 0.0 <= one.high for one in found) >= 80


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 2.0], [1.0, 2.0]),  # of two pairs it is always 1 or -1
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
        ([1.0, math.nan, 3.0], [1.0, 2.0, 3.0]),
    ],
)
def test_what_is_not_defined_is_no_number(a: list[float], b: list[float]) -> None:
    assert all(math.isnan(value) for value in rank_correlation(a, b)[1:])


def test_a_mean_lies_in_its_interval_which_narrows_with_more_values() -> None:
    rng = np.random.default_rng(1)
    few, many = (mean_interval(rng.standard_normal(n)) for n in (8, 800))
    assert few.low < few.mean < few.high
    assert many.high - many.low == pytest.approx(2 * 1.96 / 800**0.5, rel=0.2)
    assert few.high - few.low > 4 * (many.high - many.low)


def test_groups_that_differ_are_told_from_groups_that_do_not() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 8))
    apart, alike = mean_difference(a + 4.0, b), mean_difference(a, b)
    assert apart.low > 0.0 and apart.p < 0.01
    assert alike.low < 0.0 < alike.high and alike.p > 0.05
    assert apart.difference == pytest.approx(alike.difference + 4.0)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(3).standard_normal((2, 8))
    assert rank_correlation(*values, seed=5) == rank_correlation(*values, seed=5)
    assert rank_correlation(*values, seed=5) != rank_correlation(*values, seed=6)
