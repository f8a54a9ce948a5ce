"""Rank correlations and means with bootstrap intervals: pure functions of numbers.

Intervals are percentile bootstraps over planes, p-values come from permutations, both seeded. With eight
planes such an interval covers less than its 95 %, which is why both stand side by side.
A figure that is not defined (too few planes, a score that is the same for all) is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Floats = npt.NDArray[np.float64]
_RESAMPLES = 4000
_LEAST = 3  # of two pairs the rank correlation is always 1 or -1
_SLACK = 1e-12  # a permutation that only rounding keeps below the observed value counts as reaching it


class Correlation(NamedTuple):
    """Spearman's `rho` of `n` pairs, its 95 % interval, and the two-sided `p` of no association."""

    n: int
    rho: float
    low: float
    high: float
    p: float


class Interval(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """Mean of one group less that of another, its 95 % interval, and the two-sided `p` of no difference."""

    difference: float
    low: float
    high: float
    p: float


def rank_correlation(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Correlation:
    """Spearman's rank correlation of `a` and `b` (n each): ρ = corr(rank a, rank b), ties at their mean."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    n = len(x)
    if n < _LEAST or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return Correlation(n, *[np.nan] * 4)
    rho = float(_spearman(x[None], y[None])[0])
    if np.isnan(rho):
        return Correlation(n, *[np.nan] * 4)
    rng = np.random.default_rng(seed)
    rows = rng.integers(n, size=(_RESAMPLES, n))
    low, high = _bounds(_spearman(x[rows], y[rows]))
    shuffled = _spearman(
        np.broadcast_to(x, (_RESAMPLES, n)), rng.permuted(np.tile(y, (_RESAMPLES, 1)), axis=1)
    )
    return Correlation(n, rho, low, high, _p_value(shuffled, rho))


def mean_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Mean of `values` (n ≥ 1)."""
    x = np.asarray(values, dtype=np.float64)
    return Interval(float(x.mean()), *_bounds(_resampled_means(x, np.random.default_rng(seed))))


def mean_difference(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Difference:
    """Mean of `a` less mean of `b`; the groups are resampled apart, and permuted together."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    rng = np.random.default_rng(seed)
    low, high = _bounds(_resampled_means(x, rng) - _resampled_means(y, rng))
    observed = float(x.mean() - y.mean())
    pooled = rng.permuted(np.tile(np.concatenate([x, y]), (_RESAMPLES, 1)), axis=1)
    shuffled = pooled[:, : len(x)].mean(axis=1) - pooled[:, len(x) :].mean(axis=1)
    return Difference(observed, low, high, _p_value(shuffled, observed))


def _spearman(x: Floats, y: Floats) -> Floats:
    """Rank correlation along the rows; NaN where one side is constant."""
    centred = [ranks - ranks.mean(axis=1, keepdims=True) for ranks in (rankdata(v, axis=1) for v in (x, y))]
    scale = np.sqrt((centred[0] ** 2).sum(axis=1) * (centred[1] ** 2).sum(axis=1))
    rho: Floats = np.divide(
        (centred[0] * centred[1]).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 0
    )
    return rho


def _resampled_means(x: Floats, rng: np.random.Generator) -> Floats:
    means: Floats = x[rng.integers(len(x), size=(_RESAMPLES, len(x)))].mean(axis=1)
    return means


def _bounds(draws: Floats) -> tuple[float, float]:
    # A resample of one plane alone has no correlation; leaving it out costs one in a million at n = 8.
    known = draws[np.isfinite(draws)]
    if not len(known):
        return np.nan, np.nan
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def _p_value(shuffled: Floats, observed: float) -> float:
    if not np.isfinite(observed):
        return np.nan
    reached = np.abs(shuffled) >= abs(observed) * (1.0 - _SLACK)
    return float((1 + reached.sum()) / (1 + len(shuffled)))
