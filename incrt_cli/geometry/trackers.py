"""Online trackers of the extreme eigenpairs of A_res (METHOD §3).

Oja (principal):          u⁺ ← u⁺ + η (A u⁺ − ρ u⁺),              ρ = u⁺ᵀA u⁺
MCA EXIN (minor; Cirrincione et al. 2002, averaged form):
                          u⁻ ← u⁻ − (η/‖u⁻‖²)(A u⁻ − ρ⁻ u⁻),      ρ⁻ = u⁻ᵀA u⁻/‖u⁻‖²
with η = step/Γ. Both are re-projected by P⊥ and renormalised at every step, and u⁻ is kept orthogonal to u⁺.

The MCA step is not multiplied by y = u⁻ᵀA u⁻: on an indefinite operator that descends y² and ends at
Rayleigh quotient 0 instead of λ_min.
"""

from __future__ import annotations

import torch
from torch import Tensor

from incrt_cli.geometry.operator import DirectionalOperator, apply, project_out
from incrt_cli.geometry.spectrum import Extremes


def start_tracking(basis: Tensor, generator: torch.Generator) -> Tensor:
    """A random orthonormal pair (d × 2) in the complement of Q (`basis`, d × r)."""
    width = basis.shape[0]
    pair = torch.randn(width, 2, dtype=torch.float64, generator=generator).to(basis.device)
    return _orthonormal(project_out(basis, pair))


def track(
    op: DirectionalOperator, basis: Tensor, pair: Tensor, gamma: float, step: float, iterations: int
) -> tuple[Tensor, Extremes]:
    """`iterations` steps of both trackers from `pair` = [u⁺, u⁻] (d × 2); returns the new pair and estimates.

    `gamma` = ‖A_res‖_F bounds the spectral norm, so η‖A_res‖ ≤ step < 1 and neither tracker overshoots.
    """
    pair = _orthonormal(project_out(basis, pair))
    if gamma > 0.0:
        # One multiplication serves both trackers: they differ in the sign of the step alone.
        signed = torch.tensor([step / gamma, -step / gamma], dtype=torch.float64, device=pair.device)
        for _ in range(iterations):
            image = apply(op, pair)
            quotients = (pair * image).sum(dim=0)
            pair = _orthonormal(project_out(basis, pair + signed * (image - quotients * pair)))
    quotients = (pair * apply(op, pair)).sum(dim=0)
    return pair, Extremes(float(quotients[0]), pair[:, 0], float(quotients[1]), pair[:, 1])


def _orthonormal(pair: Tensor) -> Tensor:
    """Unit u⁺, then unit u⁻ orthogonal to it."""
    u_plus = pair[:, 0] / pair[:, 0].norm()
    u_minus = pair[:, 1] - (u_plus @ pair[:, 1]) * u_plus
    return torch.stack([u_plus, u_minus / u_minus.norm()], dim=1)
