"""When a layer is put on top of the others (METHOD §7, level 3; rules ours).

Only the top layer is asked, after it has stood still for `depth.patience` checks: is there much left to do,
and was the layer itself of use? Gates that see directional energy answer by it,

    Γ > θ_d = depth.energy · Γ⁽⁰⁾   and   1 − Γ²/‖A‖_F² ≥ depth.productive

which says nothing about the task, so they have no reason to stop before `depth.max_layers`. The gate that
asks the task answers by the loss ℓ of its reserved records, with ℓ⁽⁰⁾ before the first step and ℓ_top when
the top layer came: ℓ > gate.solved · ℓ⁽⁰⁾ and 1 − ℓ/ℓ_top ≥ depth.productive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import torch

from incrt_cli.config.schema import DepthSection, GateSection
from incrt_cli.geometry.demand import evidence
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.probe import TaskProbe
from incrt_cli.growth.records import Check


class Deepen(NamedTuple):
    """Put a layer on top, since `left` (Γ, or reserved loss in nats) exceeds `theta`."""

    left: float
    theta: float


class DepthRule(Protocol):
    """Reads the checks of the top layer, whichever that is."""

    def begin(self, prediction: HeadPrediction) -> None:
        """Another layer is the top one now, calibrated with `prediction`."""
        ...

    def look(self, check: Check, changed: bool) -> Deepen | None:
        """`check` of the top layer, and whether a head was born or pruned there by it."""
        ...

    def state(self) -> dict[str, Any]:
        """All that later looks depend on, as tensors and plain data."""
        ...

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None: ...


class EnergyDepth:
    """METHOD §7 as it stands."""

    def __init__(self, settings: DepthSection) -> None:
        self._settings = settings
        self._theta = 0.0
        self._quiet = 0  # checks since the layer changed

    def begin(self, prediction: HeadPrediction) -> None:
        self._theta = self._settings.energy * prediction.gamma
        self._quiet = 0

    def look(self, check: Check, changed: bool) -> Deepen | None:
        self._quiet = 0 if changed else self._quiet + 1
        if self._quiet < self._settings.patience or check.gamma is None or check.captured_share is None:
            return None
        left, productive = check.gamma > self._theta, check.captured_share >= self._settings.productive
        return Deepen(check.gamma, self._theta) if left and productive else None

    def state(self) -> dict[str, Any]:
        return {"theta": self._theta, "quiet": self._quiet}

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        self._theta, self._quiet = state["theta"], state["quiet"]


class TaskDepth:
    """The counterpart for `gate.variant: significance` [ours].

    The top layer stands still where its newest head has learnt what it will and no other was born. That the
    loss has fallen since the layer came has to be significant too: a layer that brought nothing gets none on
    top, so that noise costs one layer at the most.
    """

    def __init__(self, settings: DepthSection, gate: GateSection, probe: TaskProbe) -> None:
        self._settings, self._gate, self._probe = settings, gate, probe
        self._start = torch.empty(0)  # losses of the reserved rows (N) when the top layer came
        self._quiet = 0  # checks since it stands still

    def begin(self, prediction: HeadPrediction) -> None:
        self._start = self._probe.losses
        self._quiet = 0

    def look(self, check: Check, changed: bool) -> Deepen | None:
        loss, goal = float(self._probe.losses.mean()), self._probe.goal(self._gate.solved)
        # A layer that has not begun to learn stands still too, so only what comes after its gain counts.
        still = not (changed or check.learning or loss <= goal)
        self._quiet = self._quiet + 1 if still and self._productive() else 0
        if self._quiet < self._settings.patience:
            return None
        return Deepen(loss, goal)

    def state(self) -> dict[str, Any]:
        return {"start": self._start, "quiet": self._quiet}

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        self._start, self._quiet = state["start"].to(device), state["quiet"]

    def _productive(self) -> bool:
        gain = evidence(self._start - self._probe.losses)
        share = gain.mean / float(self._start.mean())
        return gain.t > self._gate.critical_t and share >= self._settings.productive


def build_depth_rule(settings: DepthSection, gate: GateSection, probe: TaskProbe | None) -> DepthRule:
    """The rule that goes with `gate.variant`; `probe` is there exactly when the variant asks the task."""
    return EnergyDepth(settings) if probe is None else TaskDepth(settings, gate, probe)
