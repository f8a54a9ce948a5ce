"""Is a layer's newest head still learning? Read from the same reserved rows at every look [ours]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from incrt_cli.geometry.demand import evidence


def interval(settle: int) -> int:
    """Steps between two looks, or their unit: half of what a newborn has at least."""
    return max(1, settle // 2)


class Progress:
    """Losses since the last birth (or the start), row by row.

    Learning has ended when the steps since a look `settle` steps ago, or more, took less than `share` of the
    loss that they found for every `settle` of them. A pace in shares has no scale of loss; `settle` steps are
    the unit of time.
    """

    def __init__(self, settle: int, share: float, critical_t: float) -> None:
        self._settle, self._share, self._critical_t = settle, share, critical_t
        self._seen: list[tuple[int, Tensor]] = []

    def state(self) -> dict[str, Any]:
        return {"seen": self._seen}

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        self._seen = [(step, losses.to(device)) for step, losses in state["seen"]]

    def begin(self, step: int, losses: Tensor) -> None:
        """A head was born at `step`, where reserved rows have `losses` (N)."""
        self._seen = [(step, losses)]

    def add(self, step: int, losses: Tensor) -> None:
        self._seen.append((step, losses))

    @property
    def loss(self) -> float:
        """Mean over the reserved rows, at the last look."""
        return float(self._seen[-1][1].mean())

    @property
    def life(self) -> int:
        """Steps since the birth."""
        return self._seen[-1][0] - self._seen[0][0]

    def ended(self) -> bool:
        """Never before `settle` steps: a newborn whose outputs are zero takes a while to start."""
        if self.life < self._settle:
            return False
        now = self._seen[-1][0]
        step, then = [seen for seen in self._seen if now - seen[0] >= self._settle][-1]
        left: float = (1.0 - self._share) ** ((now - step) / self._settle)
        return self.loss > left * float(then.mean())

    def learnt(self) -> bool:
        """Has the loss fallen significantly since the birth?"""
        return evidence(self._seen[0][1] - self._seen[-1][1]).t > self._critical_t
