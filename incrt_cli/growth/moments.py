"""The running token second moment C of a layer, from activations of the training step itself (METHOD §2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from incrt_cli.geometry.operator import second_moment
from incrt_cli.growth.peers import ALONE, Peers


class RunningMoment:
    """Exponential mean of per-step C with bias correction; a layer's observer.

    Called once per forward pass of an observed step (several with gradient accumulation, none where a process
    has no rows), then `fold`ed: that is when the sums of all `peers` are added.
    """

    def __init__(self, width: int, decay: float, device: torch.device, peers: Peers = ALONE) -> None:
        self._peers = peers
        self._decay = decay
        self._mean = torch.zeros(width, width, dtype=torch.float64, device=device)
        self._weight = 0.0
        self._sum = torch.zeros(width, width, device=device)
        self._count = torch.zeros((), device=device)
        self._sequences = torch.zeros((), device=device)
        self._length = torch.zeros((), dtype=torch.float64, device=device)

    def __call__(self, z: Tensor, mask: Tensor | None) -> None:
        """Add Z (B × n × d) of one forward pass."""
        # Under autocast the product would be taken in bfloat16, which is too coarse for a spectrum.
        with torch.autocast(z.device.type, enabled=False):
            total, count = second_moment(z.float(), mask)
        self._sum += total
        self._count += count
        self._sequences += z.shape[0]

    def fold(self) -> Tensor:
        """Take what was added as one step's C; returns that C (d × d)."""
        self._peers.add([self._sum, self._count, self._sequences])
        current = (self._sum / self._count).double()
        keep = self._decay
        self._mean.mul_(keep).add_(current, alpha=1.0 - keep)
        self._length.mul_(keep).add_(self._count.double() / self._sequences.double(), alpha=1.0 - keep)
        self._weight = keep * self._weight + 1.0 - keep
        self._sum.zero_()
        self._count.zero_()
        self._sequences.zero_()
        return current

    def state(self) -> dict[str, Any]:
        """The mean as it is between two steps, when nothing is left to be folded."""
        return {"mean": self._mean, "weight": self._weight, "length": self._length}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._mean.copy_(state["mean"])
        self._weight = state["weight"]
        self._length.copy_(state["length"])

    @property
    def value(self) -> Tensor:
        """C (d × d, float64)."""
        return self._mean / self._weight

    @property
    def tokens(self) -> float:
        """Mean number of real tokens of a sequence."""
        return float(self._length) / self._weight
