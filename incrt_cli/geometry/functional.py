"""Thresholds, release energy and the functional W = Γ² + c K of Theorem 6 (METHOD §3, §4; form of W ours)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from incrt_cli.geometry.capture import Capture
from incrt_cli.geometry.operator import DirectionalOperator, apply


@dataclass(frozen=True)
class Thresholds:
    """`theta` θ_w (growth), `phi_w` = ½ θ_w (its second half), `phi_g` = ratio · θ_w (pruning)."""

    theta: float
    phi_w: float
    phi_g: float

    def exceeded(self, high: float, low: float) -> bool:
        """`λ_max > θ_w and λ_min < φ_w`: does what lies between `low` and `high` ask for another head?"""
        return high > self.theta and low < self.phi_w

    @property
    def price(self) -> float:
        """`c = (θ_w² + φ_g²)/2`: what a head costs in W."""
        return 0.5 * (self.theta**2 + self.phi_g**2)

    @property
    def least_drop(self) -> float:
        """`δ = (θ_w² − φ_g²)/2`: every event lowers W by at least this at fixed C and M_a."""
        return 0.5 * (self.theta**2 - self.phi_g**2)


def thresholds(reference: float, growth_fraction: float, prune_ratio: float) -> Thresholds:
    """θ_w = τ · `reference` (Γ⁽⁰⁾, or ‖A‖_F now), φ_w = ½ θ_w, φ_g = ratio · θ_w."""
    theta = growth_fraction * reference
    return Thresholds(theta, 0.5 * theta, prune_ratio * theta)


def release_energies(op: DirectionalOperator, capture: Capture) -> dict[int, float]:
    """`E_h = ‖P₋ₕ A P₋ₕ‖² − ‖P⊥ A P⊥‖²` of every head: what leaving its columns p of Q returns to Γ².

    Heads that own none are left out. With P₋ₕ = P⊥ + p pᵀ this is 2‖P⊥ A p‖² + ‖pᵀ A p‖², parts of A Q.
    """
    image = apply(op, capture.basis)
    inside = capture.basis.T @ image
    outside = image - capture.basis @ inside
    owners = torch.tensor(capture.owners, device=image.device)
    own = inside.square() * (owners[:, None] == owners)
    shares = 2.0 * outside.square().sum(dim=0) + own.sum(dim=0)
    energies = dict.fromkeys(capture.owners, 0.0)
    for head, share in zip(capture.owners, shares.tolist(), strict=True):
        energies[head] += share
    return energies


def gate_operator(weights: Tensor, plane: Tensor, balance: float) -> Tensor:
    """`G W` with G = I + γ u⁺u⁺ᵀ − (1−γ) u⁻u⁻ᵀ (METHOD §3).

    γ is `balance`, [u⁺, u⁻] is `plane` (d × 2) and W is `weights` (d × s).
    """
    scale = plane.new_tensor([balance, balance - 1.0])
    return weights + (plane * scale) @ (plane.T @ weights)


def functional(gamma: float, heads: int, limits: Thresholds) -> float:
    """`W = Γ² + c K`."""
    return gamma**2 + limits.price * heads
