"""Spectral conditioning of attention projections and what it is measured by (METHOD §9, SCA).

    W' = W + λE (diagonal: ones on the main diagonal)   or   W' = W + σ_max U Vᵀ (svd, W = U Σ Vᵀ)

Weyl: κ(W + λE) ≤ (λ + σ_1)/(λ − σ_1) where λ > σ_1. svd adds σ_max to every singular value, so κ(W') ≤ 2.
Both hold for the W that the correction was made from: it stays fixed while W is trained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Projection = Literal["q", "k", "v"]


@dataclass(frozen=True)
class Conditioning:
    """Which projections are corrected and how; `strength` λ is of the diagonal method alone."""

    method: Literal["diagonal", "svd"]
    targets: tuple[Projection, ...]
    strength: float


def correction(weights: Tensor, conditioning: Conditioning) -> Tensor:
    """What is added to `weights` (K × d × m), in their dtype."""
    if conditioning.method == "diagonal":
        ones = torch.eye(*weights.shape[1:], dtype=weights.dtype, device=weights.device)
        return (conditioning.strength * ones).expand_as(weights)
    u, values, v = torch.linalg.svd(weights.double(), full_matrices=False)
    scaled: Tensor = values[:, :1, None] * (u @ v)
    return scaled.to(weights.dtype)


def condition_numbers(weights: Tensor) -> Tensor:
    """κ = σ_1/σ_min of each of `weights` (K × d × m), float64 (K); infinite where rank is lacking."""
    values: Tensor = torch.linalg.svdvals(weights.double())
    # Singular values of zero come out as rounding errors, and a quotient by these means nothing.
    floor = values[:, 0] * max(weights.shape[1:]) * torch.finfo(torch.float64).eps
    lacking = values[:, -1] <= floor
    return (values[:, 0] / values[:, -1]).masked_fill(lacking, math.inf)


def attend(w_q: Tensor, w_k: Tensor, w_v: Tensor, z: Tensor) -> Tensor:
    """One head's mixed values (n × d_v) on a sequence `z` (n × d) without padding."""
    return _scores(w_q, w_k, z).softmax(dim=-1) @ z @ w_v


def _scores(w_q: Tensor, w_k: Tensor, z: Tensor) -> Tensor:
    scores: Tensor = (z @ w_q) @ (z @ w_k).mT / w_q.shape[-1] ** 0.5
    return scores


def jacobian_condition(w_q: Tensor, w_k: Tensor, w_v: Tensor, z: Tensor) -> float:
    """κ of the n d_v × d (2 d_k + d_v) Jacobian of one head's `attend` in its own three projections.

    Exact by autograd, in float64. It takes n d_v backward passes: for a handful of tokens only.
    """
    arguments = tuple(tensor.double() for tensor in (w_q, w_k, w_v, z))
    jacobians = torch.func.jacrev(attend, argnums=(0, 1, 2))(*arguments)
    rows = z.shape[0] * w_v.shape[1]
    return float(condition_numbers(torch.cat([j.reshape(1, rows, -1) for j in jacobians], dim=2)))


def relative_entropy(w_q: Tensor, w_k: Tensor, z: Tensor, mask: Tensor | None) -> float:
    """Mean attention entropy of one head over real queries as a share of ln n, 0 (one-hot) to 1 (uniform).

    `z` B × n × d, `mask` B × n (True = real). Sequences of one token count nothing; NaN where all are.
    """
    real = torch.ones(z.shape[:2], dtype=torch.bool, device=z.device) if mask is None else mask
    scores = _scores(w_q.double(), w_k.double(), z.double())
    shares = scores.masked_fill(~real.unsqueeze(1), -math.inf).softmax(dim=-1)
    entropy = torch.special.entr(shares).sum(dim=-1) / real.sum(dim=1, keepdim=True).log()
    return float(entropy[real & (real.sum(dim=1, keepdim=True) > 1)].mean())
