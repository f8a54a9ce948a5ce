"""Weights of a newborn head (METHOD §4).

    W_Q = √σ_a [u⁺, u⁻, ε…],  W_K = √σ_a [u⁻, −u⁺, 0…]   so   M = σ_a (u⁺u⁻ᵀ − u⁻u⁺ᵀ)/√d_k
    W_V entries of variance d_k n/(d d_v),  W_O = 0

σ_a = ν √(d_k/2) gives the newborn's form the Frobenius norm ν; 1 is that of a head with entries of variance
1/d [ours]. The newborn's own motor adds to the energy of its plane in proportion to ν.
The further columns are noise on one side only: they add nothing to M, yet receive gradient.
W_O = 0 leaves the function exactly as it was while ∂L/∂W_O ≠ 0.
W_Q and W_K are exempt from conditioning (METHOD §9) [ours]: with d_k > 2 a motor of rank two needs one of
them to lack rank, so no correction can both condition them and leave M as the gate wants it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from incrt_cli.geometry.functional import gate_operator
from incrt_cli.model.head_bank import HeadWeights


def newborn_head(
    plane: Tensor,
    head_width: int,
    value_width: int,
    tokens: float,
    generator: torch.Generator,
    norm: float = 1.0,
    balance: float | None = None,
) -> HeadWeights:
    """A head on `plane` = [u⁺, u⁻] (d × 2, orthonormal) with ‖M‖_F = `norm`; `tokens`: the mean length n.

    With `balance` γ the gate operator of METHOD §3 is folded in: queries and keys both read G z. The motor
    keeps its plane and its skewness, and is γ (1 + γ) times as strong.
    """
    width = plane.shape[0]
    plane = plane.detach().cpu().float()
    u_plus, u_minus = plane.unbind(dim=1)
    scale = (head_width / 2.0) ** 0.25 * norm**0.5
    w_q = torch.randn(width, head_width, generator=generator) / width**0.5
    w_k = torch.zeros(width, head_width)
    w_q[:, 0], w_q[:, 1] = u_plus, u_minus
    w_k[:, 0], w_k[:, 1] = u_minus, -u_plus
    if balance is not None:
        w_q, w_k = gate_operator(w_q, plane, balance), gate_operator(w_k, plane, balance)
    w_v = _values(width, head_width, value_width, tokens, generator)
    return HeadWeights(scale * w_q, scale * w_k, w_v, torch.zeros(value_width, width), ("q", "k"))


def unaligned_head(
    width: int, head_width: int, value_width: int, tokens: float, generator: torch.Generator
) -> HeadWeights:
    """A newborn of the author's notebook: W_Q and W_K as at initialisation, whatever the gate has found."""
    w_q, w_k = torch.randn(2, width, head_width, generator=generator) / width**0.5
    w_v = _values(width, head_width, value_width, tokens, generator)
    return HeadWeights(w_q, w_k, w_v, torch.zeros(value_width, width))


def _values(
    width: int, head_width: int, value_width: int, tokens: float, generator: torch.Generator
) -> Tensor:
    deviation = (head_width * tokens / (width * value_width)) ** 0.5
    values: Tensor = torch.randn(width, value_width, generator=generator) * deviation
    return values


def random_plane(width: int, generator: torch.Generator) -> Tensor:
    """A random orthonormal plane (d × 2): the control for alignment at birth."""
    plane: Tensor = torch.linalg.qr(torch.randn(width, 2, dtype=torch.float64, generator=generator)).Q
    return plane
