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

from incrt_cli.geometry.operator import DirectionalOperator, apply, project_out, project_rows_out
from incrt_cli.geometry.spectrum import Extremes


def start_tracking(basis: Tensor, generator: torch.Generator) -> Tensor:
    """A random orthonormal pair (d × 2) in the complement of Q (`basis`, d × r)."""
    width = basis.shape[0]
    pair = torch.randn(width, 2, dtype=torch.float64, generator=generator).to(basis.device)
    return _orthonormal(project_out(basis, pair).T).T.contiguous()


def track(
    op: DirectionalOperator, basis: Tensor, pair: Tensor, gamma: float, step: float, iterations: int
) -> tuple[Tensor, Extremes]:
    """`iterations` steps of both trackers from `pair` = [u⁺, u⁻] (d × 2); returns the new pair and estimates.

    `gamma` = ‖A_res‖_F bounds the spectral norm, so η‖A_res‖ ≤ step < 1 and neither tracker overshoots.
    """
    # As rows: BLAS is several times as fast on two of them as on two columns.
    rows = _orthonormal(project_out(basis, pair).T)
    if gamma > 0.0:
        # One multiplication serves both trackers: they differ in the sign of the step alone.
        signed = rows.new_tensor([[step / gamma], [-step / gamma]])
        for _ in range(iterations):
            image = apply(op, rows.T).T
            moved = torch.addcmul(rows, signed, image - _quotients(rows, image) * rows)
            rows = _orthonormal(project_rows_out(basis, moved))
    largest, least = _quotients(rows, apply(op, rows.T).T).flatten().tolist()
    return rows.T.contiguous(), Extremes(largest, rows[0], least, rows[1])


def _quotients(rows: Tensor, image: Tensor) -> Tensor:
    """Rayleigh quotients of unit `rows` (2 × d) and their `image` under A: 2 × 1."""
    return (rows * image).sum(dim=1, keepdim=True)


def _orthonormal(rows: Tensor) -> Tensor:
    """Unit u⁺, then unit u⁻ orthogonal to it (2 × d)."""
    u_plus = rows[0] / torch.linalg.vector_norm(rows[0])
    u_minus = rows[1] - (u_plus @ rows[1]) * u_plus
    return torch.stack([u_plus, u_minus / torch.linalg.vector_norm(u_minus)])
