"""What the task asks of attention, and whether it is real (METHOD §4.2).

D_r = −∂L_r/∂M₀ is measured on R separate parts of held-out data, M₀ = 0 being a bilinear form added to the
scores of every head. With A_r = P⊥ sym(C D_a,r) P⊥, as in §2 but with D_a,r = ½ (D_r − D_rᵀ) for the motor:

    u = leading eigenvector of the mean of the even parts' operators,    q_r = uᵀ A_r u of the odd parts

The odd parts had no say in u, so where there is no demand their q_r are independent with mean 0, and
t = mean(q)/(sd(q)/√n) is an honest test, whatever the scale of the loss, of C or of the width. Leaving out
one part at a time instead is not: each q_r is then unbiased, but they share data and rise together. On pure
noise at d = 64 a nominal level of 0.001 was exceeded 16 times as often.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from incrt_cli.geometry.capture import complement
from incrt_cli.geometry.operator import DirectionalOperator, dense
from incrt_cli.geometry.spectrum import Extremes


class Evidence(NamedTuple):
    """Mean of n independent figures, its standard error and their ratio."""

    mean: float
    error: float
    t: float


class Demand(NamedTuple):
    """`evidence` for the leading direction outside Q; of the mean operator there, `values` (ascending), `look`
    (the extreme pairs) and `energy` (Frobenius norm).
    """

    evidence: Evidence
    look: Extremes
    energy: float
    values: Tensor


def evidence(figures: Tensor) -> Evidence:
    """Student's t of `figures` (n); infinite only where they agree exactly and are not zero."""
    mean, error = float(figures.mean()), float(figures.std() / len(figures) ** 0.5)
    if error > 0.0:
        return Evidence(mean, error, mean / error)
    return Evidence(mean, 0.0, 0.0 if mean == 0.0 else float("inf") * mean)


def cross_fitted_demand(second_moment: Tensor, parts: Tensor, basis: Tensor) -> Demand:
    """`parts` holds D_r (R × d × d, R ≥ 4); `second_moment` is C (d × d), `basis` Q (d × r)."""
    outside = complement(basis)
    identity = torch.eye(len(second_moment), dtype=torch.float64, device=parts.device)
    operators = [dense(DirectionalOperator(second_moment, part.double(), identity)) for part in parts]
    # Everything below happens inside the complement, where P⊥ is the identity.
    inside = outside.T @ torch.stack(operators) @ outside
    leading = torch.linalg.eigh(inside[::2].mean(dim=0)).eigenvectors[:, -1]
    quotients = inside[1::2] @ leading @ leading
    values, vectors = torch.linalg.eigh(inside.mean(dim=0))
    look = Extremes(float(values[-1]), outside @ vectors[:, -1], float(values[0]), outside @ vectors[:, 0])
    return Demand(evidence(quotients), look, float(values.norm()), values)


def cross_fitted_square(gradients: Tensor) -> Evidence:
    """‖E g‖² from `gradients` g_r (R × …) of R parts, without the bias that noise gives to ‖mean g‖²."""
    flat = gradients.double().flatten(start_dim=1)
    others = (flat.sum(dim=0) - flat) / (len(flat) - 1)
    return evidence((flat * others).sum(dim=1))
