"""The account of W = Γ² + c K: what events changed and what drifted (METHOD §4, Theorem 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrt_cli.geometry.capture import Capture
from incrt_cli.geometry.functional import Thresholds, functional
from incrt_cli.geometry.operator import DirectionalOperator, residual_energy
from incrt_cli.growth.gate import EnergyChange


class Ledger:
    """Every change of W is booked as an event (at fixed C and M_a) or as drift, so the two add up."""

    def __init__(self) -> None:
        self.start = self.now = 0.0
        self.by_events = self.by_drift = 0.0

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)

    def open(self, w: float) -> None:
        """Begin with W⁽⁰⁾ = `w`."""
        self.start = self.now = w

    def drift(self, w: float) -> float:
        """W is `w` now, without an event; returns the change."""
        change = w - self.now
        self.now = w
        self.by_drift += change
        return change

    def event(
        self,
        op: DirectionalOperator,
        limits: Thresholds,
        before: tuple[Capture, int],
        after: tuple[Capture, int],
    ) -> EnergyChange:
        """Book a birth or a prune from (planes, heads) `before` to `after`."""
        gammas = [residual_energy(op, capture.basis) for capture, _ in (before, after)]
        delta = functional(gammas[1], after[1], limits) - functional(gammas[0], before[1], limits)
        self.now += delta
        self.by_events += delta
        return EnergyChange(gammas[0], gammas[1], delta)
