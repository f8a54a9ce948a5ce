"""The growth gate: when a layer gains or loses a head (METHOD §3, §4).

A gate decides from the directional operator alone; the controller carries the decision out on the
model and tells the gate what came of it. `Gate` is the part to replace for another rule of growth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.records import Certificate, Check


@dataclass(frozen=True)
class Grow:
    """Add a head on the plane spanned by the columns u⁺, u⁻ of `plane` (d × 2).

    `balance` γ weighs the two in the gate operator (METHOD §3); None where no exact spectrum was looked at.
    """

    plane: Tensor
    lambda_max: float
    lambda_min: float | None
    balance: float | None = None


@dataclass(frozen=True)
class Absorb:
    """Let `head`, which is there already, capture `plane` (d × 2): growth of level 2 (METHOD §7)."""

    head: int
    plane: Tensor
    lambda_max: float
    lambda_min: float


@dataclass(frozen=True)
class Prune:
    """Remove `head`; `release` is its √E_h."""

    head: int
    release: float


Decision = Grow | Absorb | Prune | None


def describe(decision: Decision) -> str:
    """What is to be done, in words; its figures may differ in their last bits between machines."""
    if decision is None:
        return "no event"
    head = "" if isinstance(decision, Grow) else f" of head {decision.head}"
    return f"{type(decision).__name__.lower()}{head}"


@dataclass(frozen=True)
class EnergyChange:
    """Γ before and after an event and its ΔW, all at the same C and M_a; None where a gate has no energy."""

    gamma_before: float | None
    gamma_after: float | None
    delta_w: float | None


class Gate(Protocol):
    """The rule of one layer. `heads` is the layer's head count at the time of the call."""

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """Fix the thresholds from Γ⁽⁰⁾ and predict the count. Called once, before the layer's first step."""
        ...

    def next_look(self, step: int) -> int:
        """The step after `step` at which a look is due; one that is overdue may lie before."""
        ...

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        """Look once; at most one decision."""
        ...

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        """`head` now exists on the plane of `decision`; `op` is from before, `heads` counts it."""
        ...

    def absorbed(self, op: DirectionalOperator, step: int, heads: int, decision: Absorb) -> EnergyChange:
        """The head of `decision` now owns its plane too; no head was added."""
        ...

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        """The head of `decision` is gone; `op` still contains it, `heads` does not."""
        ...

    def kept(self, decision: Prune) -> None:
        """The prune of `decision` was undone."""
        ...

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        """One exact look at the end."""
        ...

    def state(self) -> dict[str, Any]:
        """All that later decisions depend on, as tensors and plain data."""
        ...

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        """Go on from what `state` returned; the layer is on `device`."""
        ...
