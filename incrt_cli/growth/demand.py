"""What the task wants of a layer beyond its captured planes, looked for and judged [ours].

A search on training rows proposes the surest direction of a further head, and the reserved rows judge it
(geometry/demand.py); what decides is the mean t of its last looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.capture import Capture
from incrt_cli.geometry.demand import Direction, Evidence, Search, judge, propose
from incrt_cli.geometry.view import outside
from incrt_cli.growth.probe import TaskProbe

# Demand has many maxima: with 4 starts a search missed the surest of them in two cases of three. What this
# one finds is as sure to its judges as after 8 rounds of all starts on all rows, which take thrice as long.
_SEARCH = Search(starts=16, screening=2, every=4, finalists=8, rounds=2)


class Demand:
    """Of layer number `layer`, as `probe` shows it; `seed` draws where searches start."""

    def __init__(self, settings: GateSection, layer: int, seed: int, probe: TaskProbe) -> None:
        self._settings, self._layer, self._seed, self._probe = settings, layer, seed, probe
        self._direction: Direction | None = None  # found last
        self.found = Evidence(0.0, 0.0, 0.0)  # for it, at the last look
        # The newest head's age and t at every look since the question last changed.
        self._looks: list[tuple[int, float]] = []

    def state(self) -> dict[str, Any]:
        return {"direction": self._direction, "found": self.found, "looks": self._looks}

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        direction = state["direction"]
        self._direction = None if direction is None else Direction(*(part.to(device) for part in direction))
        self.found = Evidence(*state["found"])
        self._looks = [(age, t) for age, t in state["looks"]]

    @property
    def theta(self) -> float:
        """What the mean of `found` must exceed to be significant."""
        return self._settings.critical_t * self.found.error

    @property
    def asked(self) -> bool:
        """Was there a look since the question last changed?"""
        return bool(self._looks)

    def search(self, capture: Capture, step: int) -> None:
        """Find the surest demand outside `capture`, and judge it; it does not count as a look."""
        view = outside(self._probe.sight.search[self._layer], capture.basis)
        # Seeded by the step: what a search finds must not depend on how many there were before.
        seed = int(np.random.default_rng([self._seed, self._layer, step]).integers(2**62))
        starts = torch.Generator().manual_seed(seed)
        # The last direction is a start too: demand moves slowly, and a search may miss it once.
        self._direction = propose(view, _SEARCH, starts, self._direction)
        judges = outside(self._probe.sight.judges[self._layer], capture.basis)
        self.found = judge(judges, self._direction)

    def look(self, capture: Capture, step: int, age: int) -> None:
        """Search, where the newest head is `age` steps old."""
        self.search(capture, step)
        self._looks.append((age, self.found.t))

    def forget(self) -> None:
        """The question has changed: earlier looks say nothing about it."""
        self._looks.clear()

    @property
    def seen(self) -> bool:
        """Is there demand at the last look alone?"""
        return self.found.t > self._settings.critical_t

    def significant(self, age: int) -> bool:
        """Is there demand on average over the later half of the newest head's life, of `age` steps?

        Demand at single steps is noisy, and the more often it is looked at the higher its maximum. So after
        a long pause one look is not enough: the one before it counts, or another that is soon to come.
        """
        window = min(age / 2, 2 * self._settings.settle)
        recent = [t for then, t in self._looks if then > age - window]
        recent = recent if len(recent) > 1 else [t for _, t in self._looks[-2:]] or [self.found.t]
        return sum(recent) / len(recent) > self._settings.critical_t

    @property
    def plane(self) -> torch.Tensor:
        """[u, w] of the direction found last made orthonormal (d × 2), on the CPU as Q and births are."""
        assert self._direction is not None
        query, key = (part[:, 0].double().cpu() for part in (self._direction.query, self._direction.key))
        key = key - (query @ key) * query
        return torch.stack([query, key / key.norm()], dim=1)
