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


def jacobian_condition_bound(w_q: Tensor, w_k: Tensor, w_v: Tensor, z: Tensor) -> float:
    """κ(J) ≤ κ(SZ) √(1 + ρ²),  ρ = β ‖Z‖ ‖Z W_V‖ √(‖Z W_Q‖² + ‖Z W_K‖²) / (√d_k ‖SZ‖) **[ours]**.

    S are the attention shares (n × n), s_i its rows, β = max_i ‖diag(s_i) − s_i s_iᵀ‖ ≤ 1/2; norms are
    spectral. J = [J_Q J_K J_V] is the Jacobian of `jacobian_condition`. J_V = SZ ⊗ I, so σ_min(J) ≥
    σ_min(SZ); ‖J‖² ≤ ‖J_Q‖² + ‖J_K‖² + ‖J_V‖², and a step dW_Q changes row i of the output by (Z W_V)ᵀ
    (diag(s_i) − s_i s_iᵀ) times row i of Z dW_Q (Z W_K)ᵀ / √d_k. It follows the norms of the weights and not
    their condition numbers. Infinite where there are more tokens than dimensions, SZ lacks rank, or the bound
    is beyond what `condition_numbers` tells from infinite in a matrix of the size of J.

    From below, κ(J) ≥ κ(SZ) where d_v ≥ n: some w ≠ 0 has Z W_V w ∝ 1, which no change of the shares moves,
    so that σ_min(J) = σ_min(SZ), in which W_V has no part.
    """
    w_q, w_k, w_v, z = (tensor.double() for tensor in (w_q, w_k, w_v, z))
    if z.shape[0] > z.shape[1]:
        return math.inf
    shares = _scores(w_q, w_k, z).softmax(dim=-1)
    slopes = torch.diag_embed(shares) - shares.unsqueeze(2) * shares.unsqueeze(1)
    steepest = _norm(slopes).amax()
    read = shares @ z
    reach = torch.hypot(_norm(z @ w_q), _norm(z @ w_k)) / w_q.shape[-1] ** 0.5
    rho = steepest * _norm(z) * _norm(z @ w_v) * reach / _norm(read)
    bound = float(condition_numbers(read.unsqueeze(0)) * torch.hypot(torch.ones_like(rho), rho))
    # From here on J counts as lacking rank; without rank at all SZ may be zero, and ρ no number.
    longest = max(z.shape[0] * w_v.shape[1], z.shape[1] * (2 * w_q.shape[1] + w_v.shape[1]))
    return bound if bound * longest * torch.finfo(torch.float64).eps < 1.0 else math.inf


def _norm(matrices: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.matrix_norm(matrices, ord=2)
    return norm


def relative_entropy(w_q: Tensor, w_k: Tensor, z: Tensor, mask: Tensor | None) -> float:
    """Mean attention entropy of one head over real queries as a share of ln n, 0 (one-hot) to 1 (uniform).

    `z` B × n × d, `mask` B × n (True = real). Sequences of one token count nothing; NaN where all are.
    """
    real = torch.ones(z.shape[:2], dtype=torch.bool, device=z.device) if mask is None else mask
    scores = _scores(w_q.double(), w_k.double(), z.double())
    shares = scores.masked_fill(~real.unsqueeze(1), -math.inf).softmax(dim=-1)
    entropy = torch.special.entr(shares).sum(dim=-1) / real.sum(dim=1, keepdim=True).log()
    return float(entropy[real & (real.sum(dim=1, keepdim=True) > 1)].mean())
