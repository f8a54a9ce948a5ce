"""The planes that are compared, and their geometric score (METHOD §6).

    eigenplane k:  [u_k⁺, u_k⁻], the k-th eigenvectors of A_res from both ends; λ = λ_k⁺
    random plane:  B random in the complement of Q, turned to the eigenvectors of Bᵀ A B; λ = the larger one

Both λ are the largest Rayleigh quotient uᵀ A u of a unit vector u in the plane: one measure for both [ours].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from incrt_cli.geometry.capture import Capture, capture_plane, complement, empty_capture
from incrt_cli.geometry.operator import DirectionalOperator, apply
from incrt_cli.geometry.spectrum import residual_spectrum
from incrt_cli.growth.birth import random_plane

Kind = Literal["eigen", "random"]


@dataclass(frozen=True)
class Plane:
    """`directions` [u⁺, u⁻]: d × 2 orthonormal (float64). `rank` counts from 1 within its kind."""

    kind: Kind
    rank: int
    directions: Tensor
    lambda_max: float
    lambda_min: float


def room_for_planes(basis: Tensor) -> int:
    """How many planes the complement of Q (`basis`, d × r) holds."""
    width, captured = basis.shape
    return (width - captured) // 2


def eigenplanes(op: DirectionalOperator, basis: Tensor, count: int) -> list[Plane]:
    """The first `count` planes in the order in which a gate would take them from a frozen operator."""
    spectrum = residual_spectrum(op, basis)
    pairs = [spectrum.extremes(rank) for rank in range(count)]
    return [
        Plane("eigen", rank, torch.stack([p.u_plus, p.u_minus], dim=1), p.lambda_max, p.lambda_min)
        for rank, p in enumerate(pairs, start=1)
    ]


def random_planes(
    op: DirectionalOperator, basis: Tensor, count: int, generator: torch.Generator
) -> list[Plane]:
    """`count` random planes of the complement of Q: the control."""
    outside = complement(basis)
    drawn = [random_plane(outside.shape[1], generator).to(outside) for _ in range(count)]
    return [_turned(op, outside @ plane, rank) for rank, plane in enumerate(drawn, start=1)]


def _turned(op: DirectionalOperator, plane: Tensor, rank: int) -> Plane:
    """The same plane with its best direction first, as at a birth."""
    values, vectors = torch.linalg.eigh(plane.T @ apply(op, plane))
    return Plane("random", rank, plane @ vectors.flip(1), float(values[1]), float(values[0]))


def motor_planes(w_q: Tensor, w_k: Tensor, owned: Sequence[int]) -> Capture:
    """Q recomputed from trained heads (K × d × d_k each): the `owned[h]` leading planes of each head's motor.

    A skew matrix has its singular values in pairs, so two left singular vectors span a plane.
    """
    capture = empty_capture(w_q.shape[1], w_q.device)
    for head, (query, key, count) in enumerate(zip(w_q.double(), w_k.double(), owned, strict=True)):
        # With more planes than the width has room for, whatever is left is one direction at the most.
        planes = min(count, room_for_planes(capture.basis))
        if planes:
            form = query @ key.T
            capture = capture_plane(capture, head, torch.linalg.svd(form - form.T).U[:, : 2 * planes])
    return capture
