"""Operators to test on: random layers, and ones whose spectrum is known."""

from __future__ import annotations

import torch
from torch import Tensor

from incrt_cli.geometry.operator import DirectionalOperator, directional_operator


def random_operator(
    width: int = 24, head_width: int = 4, heads: int = 3, seed: int = 0
) -> DirectionalOperator:
    generator = torch.Generator().manual_seed(seed)
    w_q = torch.randn(heads, width, head_width, generator=generator) / width**0.5
    w_k = torch.randn(heads, width, head_width, generator=generator) / width**0.5
    z = torch.randn(200, width, generator=generator) * torch.linspace(2.0, 0.2, width)
    return directional_operator(z.T @ z / 200, w_q, w_k)


def operator_with_spectrum(values: list[float], seed: int = 0) -> DirectionalOperator:
    """An operator with eigenvalues ± `values`, each `value` on a plane of its own.

    On one plane, C = diag(1 + 2v, 1 − 2v)/… would need C > 0 only for small v; so C = diag(2, 1) there and
    M_a = m J: then A = sym(C M_a) = ½ m [[0, 1], [1, 0]] has eigenvalues ± m/2.
    """
    width = 2 * len(values)
    generator = torch.Generator().manual_seed(seed)
    rotation, _ = torch.linalg.qr(torch.randn(width, width, dtype=torch.float64, generator=generator))
    second_moment = torch.diag(torch.tensor([2.0, 1.0] * len(values), dtype=torch.float64))
    motor = torch.zeros(width, width, dtype=torch.float64)
    for plane, value in enumerate(values):
        motor[2 * plane, 2 * plane + 1] = 2.0 * value
        motor[2 * plane + 1, 2 * plane] = -2.0 * value
    identity: Tensor = torch.eye(width, dtype=torch.float64)
    return DirectionalOperator(rotation @ second_moment @ rotation.T, rotation @ motor @ rotation.T, identity)
