"""Is a layer's newest head still learning? Read from the same reserved rows at every look [ours]."""

from __future__ import annotations

from torch import Tensor

from incrt_cli.geometry.demand import Evidence, evidence


class Progress:
    """Losses since the last birth (or the start).

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

    def gain(self) -> Evidence:
        """What the later half of the life brought, row by row."""
        return evidence(self._middle() - self._seen[-1][1])

    def ended(self) -> bool:
        """Never before `settle` steps: a newborn whose outputs are zero takes a while to start."""
        if self._seen[-1][0] - self._seen[0][0] < self._settle:
            return False
        later = self.gain()
        total = float((self._seen[0][1] - self._seen[-1][1]).mean())
        return later.t < self._critical_t or later.mean < self._share * total

    def _middle(self) -> Tensor:
        middle = 0.5 * (self._seen[0][0] + self._seen[-1][0])
        return min(self._seen, key=lambda look: abs(look[0] - middle))[1]
