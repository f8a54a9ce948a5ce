"""How many heads, from the operator before the first step (METHOD §5, Theorem 7 of INCRT).

    κ_T     = Γ⁽⁰⁾/λ_max⁽⁰⁾
    k_law   = κ_T² ln(Γ⁽⁰⁾/θ_w)                  the paper's law with its constant taken as 1
    k_greedy = K⁽⁰⁾ + planes that greedy deflation needs until the gate would no longer grow
    k_bound = K⁽⁰⁾ + ⌈2 κ̄² ln(‖A⁽⁰⁾‖/θ_w)⌉,      κ̄² = max_k Γ_k²/(λ_max,k² + λ_min,k²)

Γ⁽⁰⁾ is a median over batches and may lie below ‖A⁽⁰⁾‖ of their mean operator; the bound is a bound only
with the latter. K⁽⁰⁾ heads at the start, usually 1, own no plane and stay.

With level 2 (METHOD §7) the present heads capture what is theirs, up to ⌊d_k/2⌋ planes each, and k_greedy
counts the births for the rest. A newborn lies in its own plane, so it holds nothing of what is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from incrt_cli.geometry.functional import Thresholds


@dataclass(frozen=True)
class HeadPrediction:
    """Prediction for one layer; `eigenvalues` is the spectrum of A⁽⁰⁾ it rests on, ascending.

    `planes`: what greedy deflation captures, for which k_greedy − K⁽⁰⁾ heads are born.
    """

    kappa: float
    gamma: float
    lambda_max: float
    lambda_min: float
    theta: float
    k_law: float
    k_greedy: int
    k_bound: int
    eigenvalues: tuple[float, ...]
    planes: int


def predict_heads(
    eigenvalues: Tensor, gamma: float, limits: Thresholds, heads: int = 1, absorbed: int = 0
) -> HeadPrediction:
    """Predict a layer's head count from the ascending `eigenvalues` (d) of A⁽⁰⁾ and `gamma` = Γ⁽⁰⁾.

    `heads` K⁽⁰⁾ is the layer's count at the start, `absorbed` the planes that these heads capture.

    A stationary birth removes an eigenplane, so deflating greedily is reading the spectrum from both ends.
    An operator that is zero (a layer without any directional signal) needs no further head.
    """
    values = [float(value) for value in eigenvalues]
    if gamma <= 0.0 or values[-1] <= 0.0:
        return HeadPrediction(
            math.nan, gamma, values[-1], values[0], limits.theta, 1.0, heads, heads, tuple(values), 0
        )
    pairs, planes = _pairs(values), planes_needed(eigenvalues, limits)
    worst = _worst_stable_rank(values, pairs[: max(planes, 1)])
    kappa = gamma / values[-1]
    norm = math.sqrt(sum(value**2 for value in values))
    return HeadPrediction(
        kappa=kappa,
        gamma=gamma,
        lambda_max=values[-1],
        lambda_min=values[0],
        theta=limits.theta,
        k_law=kappa**2 * math.log(gamma / limits.theta),
        k_greedy=heads + planes - absorbed,
        k_bound=heads + max(0, math.ceil(2.0 * worst * math.log(norm / limits.theta))),
        eigenvalues=tuple(values),
        planes=planes,
    )


def planes_needed(eigenvalues: Tensor, limits: Thresholds) -> int:
    """Planes that greedy deflation takes from the ascending `eigenvalues` until the gate would not grow."""
    planes = 0
    for high, low in _pairs([float(value) for value in eigenvalues]):
        if not limits.exceeded(high, low):
            break
        planes += 1
    return planes


def _pairs(values: list[float]) -> list[tuple[float, float]]:
    """Ascending `values` paired from both ends."""
    return list(zip(reversed(values), values, strict=True))[: len(values) // 2]


def _worst_stable_rank(values: list[float], pairs: list[tuple[float, float]]) -> float:
    """`κ̄²`: the largest Γ_k²/(λ_max,k² + λ_min,k²) along the deflation path."""
    remaining = sum(value**2 for value in values)
    worst = 0.0
    for high, low in pairs:
        removed = high**2 + low**2
        worst = max(worst, remaining / removed)
        remaining -= removed
    return worst
