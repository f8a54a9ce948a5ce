"""The directional operator A = sym(C M_a) and its residual (METHOD §2, INCRT).

    M   = L Rᵀ                      sum of the heads' bilinear forms, 1/√d_k folded into L
    M_a = ½ (M − Mᵀ)                the layer's motor
    A   = ½ (C M_a − M_a C)         symmetric, indefinite, trace 0
    A_res = P⊥ A P⊥,  P⊥ = I − Q Qᵀ

Where M has little rank, A is not formed: `A v` and ‖A‖_F go through the factors. With m ≥ d/4 the matrix
costs less than one ‖A‖_F through them; it is then made once and serves all that a look asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class DirectionalOperator:
    """`second_moment` C: d × d symmetric; `left` L and `right` R: d × m, with M = L Rᵀ (all float64)."""

    second_moment: Tensor
    left: Tensor
    right: Tensor

    @property
    def low_rank(self) -> bool:
        """Are the factors the cheaper way to A?"""
        width, rank = self.left.shape
        return 4 * rank < width

    @cached_property
    def matrix(self) -> Tensor:
        """A (d × d); not to be written to."""
        form = self.left @ self.right.T
        product = self.second_moment @ (form - form.T)
        # (C M_a)ᵀ = −M_a C, so the commutator is the symmetric part of one product.
        return 0.25 * (product + product.T)

    @cached_property
    def norm(self) -> float:
        """‖A‖_F; through the factors: ‖A‖² = ½ (‖C M_a‖² + tr(C M_a C M_a))."""
        if not self.low_rank:
            return float(torch.linalg.matrix_norm(self.matrix))
        # M_a = F G with F = ½ [L, −R], G = [R, L]ᵀ; both terms are traces of 2m × 2m matrices.
        f = 0.5 * torch.cat([self.left, -self.right], dim=1)
        g = torch.cat([self.right, self.left], dim=1)
        cf = self.second_moment @ f
        inner = g.T @ cf
        squared = 0.5 * (torch.sum((cf.T @ cf) * (g.T @ g)) + torch.sum(inner * inner.T))
        return float(squared.clamp_min(0.0).sqrt())


def directional_operator(second_moment: Tensor, w_q: Tensor, w_k: Tensor) -> DirectionalOperator:
    """The operator of a layer: `w_q`, `w_k` are K × d × d_k, `second_moment` C is d × d."""
    heads, width, head_width = w_q.shape
    left = w_q.double().permute(1, 0, 2).reshape(width, heads * head_width)
    right = w_k.double().permute(1, 0, 2).reshape(width, heads * head_width)
    return DirectionalOperator(second_moment.double(), left / head_width**0.5, right)


def apply_motor(op: DirectionalOperator, v: Tensor) -> Tensor:
    """`M_a v` for `v` of shape d × r."""
    return 0.5 * (op.left @ (op.right.T @ v) - op.right @ (op.left.T @ v))


def apply(op: DirectionalOperator, v: Tensor) -> Tensor:
    """`A v` for `v` of shape d × r."""
    if not op.low_rank:
        return (v.T @ op.matrix).T  # A is symmetric, and BLAS reads it faster from this side
    c = op.second_moment
    return 0.5 * (c @ apply_motor(op, v) - apply_motor(op, c @ v))


def dense(op: DirectionalOperator) -> Tensor:
    """`A` as a d × d matrix, not to be written to."""
    return op.matrix


def project_out(basis: Tensor, v: Tensor) -> Tensor:
    """`P⊥ v` for an orthonormal `basis` Q (d × r, r may be 0) and `v` (d × s)."""
    return v - basis @ (basis.T @ v)


def project_rows_out(basis: Tensor, rows: Tensor) -> Tensor:
    """The same for the rows of `rows` (s × d): which of the two is faster depends on how they lie."""
    return rows - rows @ basis @ basis.T


def energy(op: DirectionalOperator) -> float:
    """`‖A‖_F`."""
    return op.norm


def residual_energy(op: DirectionalOperator, basis: Tensor) -> float:
    """`Γ = ‖P⊥ A P⊥‖_F` for an orthonormal `basis` Q of shape d × r."""
    image = apply(op, basis)
    inside = basis.T @ image
    squared = energy(op) ** 2 - 2.0 * float(image.square().sum()) + float(inside.square().sum())
    return math.sqrt(max(squared, 0.0))


def second_moment(z: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Sum of z zᵀ over real tokens (d × d) and their number; `z` B × n × d, `mask` B × n (True = real)."""
    if mask is None:
        flat = z.reshape(-1, z.shape[-1])
        return flat.T @ flat, z.new_full((), flat.shape[0])  # filled on the device: nothing waits for it
    flat = (z * mask.unsqueeze(-1)).reshape(-1, z.shape[-1])
    return flat.T @ flat, mask.sum().to(z.dtype)
