"""Is a layer's newest head still learning? Read from the same reserved rows at every look [ours]."""

from __future__ import annotations

import torch
from torch import Tensor

from incrt_cli.geometry.demand import Evidence, evidence


def interval(settle: int) -> int:
    """Steps between two decisions: half of what a newborn has at least, so that every life has two halves."""
    return max(1, settle // 2)


class Progress:
    """Losses since the last birth (or the start), row by row.

    Learning has ended when the later half of the head's life brought less than `share` of all that it
    brought, or nothing significant. Halves of its own life, shares of its own gain: no scale enters.
    """

    def __init__(self, settle: int, share: float, critical_t: float) -> None:
        self._settle, self._share, self._critical_t = settle, share, critical_t
        self._seen: list[tuple[int, Tensor]] = []

    def begin(self, step: int, losses: Tensor) -> None:
        """A head was born at `step`, where reserved rows have `losses` (N)."""
        self._seen = [(step, losses)]

    def add(self, step: int, losses: Tensor) -> None:
        self._seen.append((step, losses))

    @property
    def loss(self) -> float:
        """Mean over the reserved rows, at the last decision."""
        return float(self._seen[-1][1].mean())

    @property
    def life(self) -> int:
        """Steps since the birth."""
        return self._seen[-1][0] - self._seen[0][0]

    def ended(self) -> bool:
        """Never before `settle` steps: a newborn whose outputs are zero takes a while to start."""
        if self.life < self._settle:
            return False
        later = evidence(self._around(0.5) - self._around(1.0))
        return later.t < self._critical_t or later.mean < self._share * self._gain().mean

    def learnt(self) -> bool:
        """Has the loss fallen significantly since the birth?"""
        return self._gain().t > self._critical_t

    def _gain(self) -> Evidence:
        return evidence(self._seen[0][1] - self._around(1.0))

    def _around(self, part: float) -> Tensor:
        """Mean losses of the looks within an eighth of a life of that part of it: single steps are noisy."""
        moment = self._seen[0][0] + part * self.life
        distances = [abs(step - moment) for step, _ in self._seen]
        reach = max(min(distances), self.life / 8)
        near = [losses for (_, losses), far in zip(self._seen, distances, strict=True) if far <= reach]
        return torch.stack(near).mean(dim=0)
