"""A gate that sizes by the task's demand alone (METHOD §4.2) [ours].

A head is born where the demand's leading direction is significant at `consecutive` checks, and a head born
there would lower the loss faster than the newest head still does. The second half is what waits: while a
newborn learns, it is its own best rival, however often the gate looks and however long learning takes.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.capture import Capture, capture_plane, empty_capture
from incrt_cli.geometry.demand import Demand, judged_demand
from incrt_cli.geometry.functional import thresholds
from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.prediction import HeadPrediction, predict_heads
from incrt_cli.growth.gate import Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.probe import LayerProbe
from incrt_cli.growth.records import Certificate, Check


class SignificanceGate:
    """Gate of layer number `layer`, which `probe` looks at."""

    def __init__(self, settings: GateSection, layer: int, width: int, probe: LayerProbe) -> None:
        self._settings, self._layer, self._probe = settings, layer, probe
        self._capture: Capture = empty_capture(width)
        self._since_birth = settings.dwell
        self._significant = 0  # checks in a row
        self._events = self._quiet = 0
        self._last_event_step: int | None = None

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """Predict from the demand before the first step: `k_greedy` counts significant planes."""
        capture = self._capture
        demand = self._demand(op)
        first, planes = demand, 0
        while demand.evidence.t > self._settings.critical_t and planes < len(op.left) // 2 - 1:
            planes += 1
            capture = capture_plane(capture, planes, _plane(demand))
            demand = self._demand(op, capture)
        limits = thresholds(first.energy, self._settings.growth_fraction, 0.0)
        return replace(predict_heads(first.values, first.energy, limits, heads), k_greedy=heads + planes)

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        """Look once: grow, or nothing. This gate never prunes."""
        demand = self._demand(op)
        self._since_birth += 1
        self._quiet += 1
        self._significant = self._significant + 1 if self._exceeds(demand) else 0
        newborn, rates = self._probe.newborn_rate(_plane(demand)), self._probe.present_rates()
        rival = rates[-1] if self._settings.rival == "newest" else max(rates)
        worth = newborn.mean > self._settings.expansion * rival.mean
        ripe = self._significant >= self._settings.consecutive and self._since_birth >= self._settings.dwell
        full = self._settings.max_heads is not None and heads >= self._settings.max_heads
        decision = None
        if ripe and worth and not full:
            decision = Grow(_plane(demand), demand.look.lambda_max, demand.look.lambda_min)
        check = Check(
            step=step,
            layer=self._layer,
            heads=heads,
            lambda_max=demand.evidence.mean,
            lambda_min=demand.look.lambda_min,
            theta=self._settings.critical_t * demand.evidence.error,
            phi_g=None,
            gamma=demand.energy,
            captured_share=0.0,
            min_release=None,
            w=None,
            drift_w=None,
            tracker_error=None,
            exact=True,
            newborn_rate=newborn.mean,
            rival_rate=rival.mean,
            rates=(newborn.t, *[x.mean for x in rates], rates[-1].t),
        )
        return check, decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        before = self._demand(op)
        if self._settings.capture:
            self._capture = capture_plane(self._capture, head, decision.plane)
        self._since_birth = self._significant = self._quiet = 0
        self._events += 1
        self._last_event_step = step
        return EnergyChange(before.energy, self._demand(op).energy, None)

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        raise NotImplementedError

    def kept(self, decision: Prune) -> None:
        raise NotImplementedError

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        demand = self._demand(op)
        sufficient = not self._exceeds(demand)
        return Certificate(
            layer=self._layer,
            heads=heads,
            sufficient=sufficient,
            minimal=True,
            lambda_max=demand.evidence.mean,
            lambda_min=demand.look.lambda_min,
            theta=self._settings.critical_t * demand.evidence.error,
            phi_g=None,
            min_release=None,
            gamma=demand.energy,
            captured_share=0.0,
            events=self._events,
            last_event_step=self._last_event_step,
            quiet_checks=self._quiet,
            stopped_by_itself=sufficient and self._quiet >= self._settings.certify_every,
            tracker_error=None,
            w_start=None,
            w_end=None,
            w_events=None,
            w_drift=None,
            event_limit=None,
        )

    def _demand(self, op: DirectionalOperator, capture: Capture | None = None) -> Demand:
        basis = (capture or self._capture).basis
        probe = self._probe
        return judged_demand(op.second_moment, probe.search(), probe.judges(), basis, self._settings.demand)

    def _exceeds(self, demand: Demand) -> bool:
        return demand.evidence.t > self._settings.critical_t


def _plane(demand: Demand) -> torch.Tensor:
    return torch.stack([demand.look.u_plus, demand.look.u_minus], dim=1)
