"""Captured planes: the orthonormal basis Q, which head owns which columns, and the rest (METHOD §2, §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Capture:
    """`basis` Q: d × r orthonormal (float64); `owners[j]` is the head that captured column j."""

    basis: Tensor
    owners: tuple[int, ...]

    def state(self) -> dict[str, Any]:
        return {"basis": self.basis, "owners": list(self.owners)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], device: torch.device | str = "cpu") -> Capture:
        return cls(state["basis"].to(device), tuple(state["owners"]))


def empty_capture(width: int, device: torch.device | str = "cpu") -> Capture:
    return Capture(torch.zeros(width, 0, dtype=torch.float64, device=device), ())


def capture_plane(capture: Capture, head: int, plane: Tensor) -> Capture:
    """Add `plane` (d × s) to Q for `head`, orthonormalised against what is captured already."""
    rest = plane.double()
    # Twice: one pass of Gram-Schmidt loses orthogonality when the plane nearly lies in Q.
    for _ in range(2):
        rest = rest - capture.basis @ (capture.basis.T @ rest)
        rest, _ = torch.linalg.qr(rest)
    basis = torch.cat([capture.basis, rest], dim=1)
    return Capture(basis, capture.owners + (head,) * plane.shape[1])


def release_head(capture: Capture, head: int) -> Capture:
    """Q without the columns of `head`."""
    kept = [j for j, owner in enumerate(capture.owners) if owner != head]
    return Capture(capture.basis[:, kept], tuple(capture.owners[j] for j in kept))


def complement(basis: Tensor) -> Tensor:
    """An orthonormal basis (d × (d − r)) of what `basis` (d × r) leaves out."""
    width, rank = basis.shape
    if rank == 0:
        return torch.eye(width, dtype=basis.dtype, device=basis.device)
    full: Tensor = torch.linalg.qr(basis, mode="complete").Q
    return full[:, rank:]
