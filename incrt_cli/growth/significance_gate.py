"""A gate that sizes by the task's demand alone [ours], after METHOD §4.2.

A head is born when a head that does not exist yet could significantly lower the loss of reserved rows, and the
newest head has learnt what it will. The first says whether, the second when: so neither how often the gate
looks nor how long learning takes decides how many there are. It never prunes.
"""

from __future__ import annotations

import math

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.demand import Direction, Evidence, judge, propose
from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.gate import Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.probe import Sight
from incrt_cli.growth.progress import Progress
from incrt_cli.growth.records import Certificate, Check

_STARTS, _ROUNDS = 4, 8


class SignificanceGate:
    """Gate of layer number `layer`; `sight` is set by the controller before every call."""

    def __init__(self, settings: GateSection, layer: int, generator: torch.Generator) -> None:
        self._settings, self._layer, self._generator = settings, layer, generator
        self._progress = Progress(settings.settle, settings.progress, settings.critical_t)
        self._events = self._quiet = 0
        self._last_event_step: int | None = None
        self._initial_loss = 0.0
        self._warm: Direction | None = None
        self.sight: Sight | None = None

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """No prediction: before the first step nothing is known of what attention will be asked for."""
        assert self.sight is not None
        self._progress.begin(0, self.sight.losses)
        self._initial_loss = float(self.sight.losses.mean())
        return HeadPrediction(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, heads, heads, ())

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        assert self.sight is not None
        direction, found = self._demand()
        self._quiet += 1
        self._progress.add(step, self.sight.losses)
        full = self._settings.max_heads is not None and heads >= self._settings.max_heads
        decision = None
        if self._asks(found) and self._progress.ended() and not full:
            decision = Grow(_plane(direction), found.mean, found.mean - found.error)
        gain = self._progress.gain()
        check = Check(
            step=step,
            layer=self._layer,
            heads=heads,
            lambda_max=found.mean,
            lambda_min=0.0,
            theta=self._settings.critical_t * found.error,
            phi_g=None,
            gamma=float(self.sight.losses.mean()),
            captured_share=0.0,
            min_release=None,
            w=None,
            drift_w=None,
            tracker_error=None,
            exact=True,
            rates=(found.t, gain.mean, gain.t, float(self._progress.ended())),
        )
        return check, decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        assert self.sight is not None
        self._progress.begin(step, self.sight.losses)
        self._quiet = 0
        self._events += 1
        self._last_event_step = step
        return EnergyChange(0.0, 0.0, None)

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        raise NotImplementedError

    def kept(self, decision: Prune) -> None:
        raise NotImplementedError

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        _, found = self._demand()
        sufficient = not self._asks(found)
        return Certificate(
            layer=self._layer,
            heads=heads,
            sufficient=sufficient,
            minimal=True,
            lambda_max=found.mean,
            lambda_min=0.0,
            theta=self._settings.critical_t * found.error,
            phi_g=None,
            min_release=None,
            gamma=0.0,
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

    def _asks(self, found: Evidence) -> bool:
        """Residuals of a solved task are tiny but agree, so significance alone would never end."""
        assert self.sight is not None
        unsolved = float(self.sight.losses.mean()) > self._settings.solved * self._initial_loss
        return unsolved and found.t > self._settings.critical_t

    def _demand(self) -> tuple[Direction, Evidence]:
        assert self.sight is not None
        search, judges = self.sight.search[self._layer], self.sight.judges[self._layer]
        # The last look's direction is a start too: demand moves slowly, and a search may miss it once.
        self._warm = direction = propose(search, _STARTS, _ROUNDS, self._generator, self._warm)
        return direction, judge(judges, direction)


def _plane(direction: Direction) -> torch.Tensor:
    """[u, w] made orthonormal."""
    query, key = direction.query[:, 0].double(), direction.key[:, 0].double()
    key = key - (query @ key) * query
    return torch.stack([query, key / key.norm()], dim=1)
