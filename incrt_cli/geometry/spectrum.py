"""Exact eigenpairs of the residual operator within the complement of Q (METHOD §2)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from incrt_cli.geometry.capture import complement
from incrt_cli.geometry.operator import DirectionalOperator, dense


class Extremes(NamedTuple):
    """Extreme Rayleigh quotients and their unit vectors (d); exact, or a tracker's estimate of them."""

    lambda_max: float
    u_plus: Tensor
    lambda_min: float
    u_minus: Tensor


class Spectrum(NamedTuple):
    """`values` ascending (d − r) and `vectors` d × (d − r) of A_res within the complement of Q."""

    values: Tensor
    vectors: Tensor

    def extremes(self, rank: int = 0) -> Extremes:
        """The `rank`-th pair from both ends (0 = the extreme one)."""
        low, high = rank, len(self.values) - 1 - rank
        return Extremes(
            float(self.values[high]), self.vectors[:, high], float(self.values[low]), self.vectors[:, low]
        )


def residual_spectrum(op: DirectionalOperator, basis: Tensor) -> Spectrum:
    """Full eigen-decomposition of `Bᵀ A B`, B a basis of the complement of Q (`basis`, d × r)."""
    outside = complement(basis)
    values, vectors = torch.linalg.eigh(outside.T @ dense(op) @ outside)
    return Spectrum(values, oriented(outside @ vectors))


def oriented(vectors: Tensor) -> Tensor:
    """The columns of `vectors` (d × s), each with the sign that makes its largest entry positive [ours].

    The sign of an eigenvector is arbitrary and changes with the rounding of A, whereas a newborn's motor
    changes with the sign of u⁺ or u⁻: without this a run would depend on threads or processes.
    """
    largest = vectors.abs().argmax(dim=0, keepdim=True)
    return vectors * vectors.gather(0, largest).sign()
