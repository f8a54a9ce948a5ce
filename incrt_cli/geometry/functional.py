"""Thresholds, release energy and the functional W = Γ² + c K of Theorem 6 (METHOD §3, §4; form of W ours)."""

from __future__ import annotations

from dataclasses import dataclass

from incrt_cli.geometry.capture import Capture, columns_of
from incrt_cli.geometry.operator import DirectionalOperator, apply, project_out


@dataclass(frozen=True)
class Thresholds:
    """`theta` θ_w (growth), `phi_w` = ½ θ_w (its second half), `phi_g` = ratio · θ_w (pruning)."""

    theta: float
    phi_w: float
    phi_g: float

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


def release_energy(op: DirectionalOperator, capture: Capture, head: int) -> float:
    """`E_h = ‖P₋ₕ A P₋ₕ‖² − ‖P⊥ A P⊥‖²`: what leaving `head`'s plane p would return to Γ².

    With P₋ₕ = P⊥ + p pᵀ this is 2‖P⊥ A p‖² + ‖pᵀ A p‖², so A is never formed.
    """
    plane = columns_of(capture, head)
    image = apply(op, plane)
    outside = project_out(capture.basis, image)
    inside = plane.T @ image
    return 2.0 * float(outside.square().sum()) + float(inside.square().sum())


def functional(gamma: float, heads: int, limits: Thresholds) -> float:
    """`W = Γ² + c K`."""
    return gamma**2 + limits.price * heads
