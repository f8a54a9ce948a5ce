"""Spectra of a model's matrices in float64, products of two small factors never formed (METHOD §10, SAB)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_RANK_TOLERANCE = 1e-10
_GRAM_LIMIT = 1e-8  # least ratio of squared singular values for which a Gram matrix is exact enough


@dataclass(frozen=True)
class MatrixSpectrum:
    """What METHOD §10 needs of one matrix.

    `values`: singular values above `1e-10 · len(σ) · max(σ_1, 1)`, float64 on the CPU; those below count
    as zero at every Schatten index, as rounding would otherwise decide σ^p at small p. `norm`: spectral
    norm. `column_norm`: ‖·‖_{2,1}, the sum of the column norms.
    """

    values: Tensor
    norm: float
    column_norm: float

    @property
    def rank(self) -> int:
        return len(self.values)


def low_rank_spectra(left: Tensor, right: Tensor) -> list[MatrixSpectrum]:
    """Spectra of `left[h] right[h]ᵀ` for factors of shape K × d × r, in O(K (d r² + r³))."""
    left, right = left.double(), right.double()
    # left = Q R with orthonormal Q: Q changes neither the singular values nor the norm of a column.
    left_core = torch.linalg.qr(left, mode="r").R
    right_core = torch.linalg.qr(right, mode="r").R
    values = torch.linalg.svdvals(left_core @ right_core.mT)
    column_norms = torch.linalg.vector_norm(left_core @ right.mT, dim=1).sum(dim=1)
    length = left.shape[1]
    return [_spectrum(v, length, float(c)) for v, c in zip(values, column_norms, strict=True)]


def dense_spectrum(matrix: Tensor) -> MatrixSpectrum:
    """Spectrum of a full m × n `matrix`."""
    matrix = matrix.double()
    column_norm = float(torch.linalg.vector_norm(matrix, dim=0).sum())
    return _spectrum(_singular_values(matrix), min(matrix.shape), column_norm)


def _singular_values(matrix: Tensor) -> Tensor:
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    squares: Tensor
    # The Gram matrix takes 0.6 of the time, but its small eigenvalues carry the error of the largest.
    squares = torch.linalg.eigvalsh(_lower_gram(tall), UPLO="L").flip(0)
    if squares[-1] > _GRAM_LIMIT * squares[0]:
        return squares.sqrt()
    values: Tensor = torch.linalg.svdvals(torch.linalg.qr(tall, mode="r").R)
    return values


def _lower_gram(tall: Tensor) -> Tensor:
    """`tallᵀ tall` but for its upper right quarter, the mirror image of the lower left one."""
    half = tall.shape[1] // 2
    gram = tall.new_zeros(tall.shape[1], tall.shape[1])
    gram[:, :half] = tall.T @ tall[:, :half]
    gram[half:, half:] = tall[:, half:].T @ tall[:, half:]
    return gram


def _spectrum(values: Tensor, length: int, column_norm: float) -> MatrixSpectrum:
    values = values.cpu()
    largest = float(values[0])
    kept = values[values > _RANK_TOLERANCE * length * max(largest, 1.0)]
    return MatrixSpectrum(kept, largest, column_norm)
