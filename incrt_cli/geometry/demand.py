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


def judged_demand(second_moment: Tensor, search: Tensor, judges: Tensor, basis: Tensor, kind: str) -> Demand:
    """`search` D (d × d) proposes a direction, `judges` D_r (R × d × d, R ≥ 2) say whether it is real;
    `second_moment` is C (d × d), `basis` Q (d × r).
    """
    outside = complement(basis)

    def inside(form: Tensor) -> Tensor:
        if kind == "form":
            return outside.T @ form.double() @ outside
        identity = torch.eye(len(form), dtype=torch.float64, device=form.device)
        return outside.T @ dense(DirectionalOperator(second_moment, form.double(), identity)) @ outside

    found = inside(search)
    if kind == "form":
        left, values, right = torch.linalg.svd(found)
        u, v = left[:, 0], right[0]
        values = values.flip(0)
        minus = v - (u @ v) * u
        look = Extremes(float(values[-1]), outside @ u, -float(values[-1]), outside @ (minus / minus.norm()))
    else:
        values, vectors = torch.linalg.eigh(found)
        u = v = vectors[:, -1]
        look = Extremes(float(values[-1]), outside @ u, float(values[0]), outside @ vectors[:, 0])
    quotients = torch.stack([u @ inside(part) @ v for part in judges])
    return Demand(evidence(quotients), look, float(values.norm()), values)


def cross_fitted_square(gradients: Tensor) -> Evidence:
    """‖E g‖² from `gradients` g_r (R × …) of R parts, without the bias that noise gives to ‖mean g‖²."""
    flat = gradients.double().flatten(start_dim=1)
    others = (flat.sum(dim=0) - flat) / (len(flat) - 1)
    return evidence((flat * others).sum(dim=1))
