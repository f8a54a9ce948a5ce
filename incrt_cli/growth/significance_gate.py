"""A gate that sizes by the task's demand alone [ours], after METHOD §4.2.

A head is born when a head that does not exist yet could significantly lower the loss of reserved records,
and the newest head has learnt what it will. The first says whether, the second when: so neither how often
the gate looks nor how long learning takes decides how many there are. It never prunes.
"""

from __future__ import annotations

import math

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.capture import Capture, capture_plane, empty_capture
from incrt_cli.geometry.demand import Direction, Evidence, judge, outside, propose
from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.gate import Absorb, Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.probe import TaskProbe
from incrt_cli.growth.progress import Progress
from incrt_cli.growth.records import Certificate, Check

# Demand has many maxima: with 4 starts a search missed the surest of them in two cases of three.
_STARTS, _ROUNDS = 16, 8


class SignificanceGate:
    """Gate of layer number `layer`, which decides from the last look of `probe`."""

    def __init__(
        self, settings: GateSection, layer: int, width: int, generator: torch.Generator, probe: TaskProbe
    ) -> None:
        self._settings, self._layer, self._generator, self._probe = settings, layer, generator, probe
        self._capture = empty_capture(width)
        self._progress = Progress(settings.settle, settings.progress, settings.critical_t)
        self._warm: Direction | None = None
        self._newest: tuple[int, torch.Tensor] | None = None  # head and plane, until it is given up
        self._looks: list[
            tuple[int, float]
        ] = []  # the newest's age and t; empty where the question has changed
        self._events = self._quiet = 0
        self._last_event_step: int | None = None

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """Predict what a model that never learns would grow: one head a significant direction, greedily."""
        losses = self._probe.sight.losses
        self._progress.begin(self._probe.step, losses)
        capture, planes = self._capture, 0
        direction, first = self._search(capture)
        found = first
        while found.t > self._settings.critical_t and planes < len(op.left) // 2 - 1:
            planes += 1
            capture = capture_plane(capture, planes, _plane(direction))
            direction, found = self._search(capture)
        count = heads + planes
        theta, nan = self._settings.critical_t * first.error, math.nan
        return HeadPrediction(nan, nan, first.mean, nan, theta, nan, count, count, (), planes)

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        """Grow, or nothing."""
        losses = self._probe.sight.losses
        self._progress.add(step, losses)
        self._quiet += 1
        if self._progress.ended() and not self._progress.learnt():
            self._give_up()
        direction, found = self._search(self._capture)
        self._warm = direction
        self._looks.append((self._progress.life, found.t))
        full = self._settings.max_heads is not None and heads >= self._settings.max_heads
        decision = None
        if self._asks(found) and self._progress.ended() and not full:
            decision = Grow(_plane(direction), found.mean, None)
        check = Check(
            step=step,
            layer=self._layer,
            heads=heads,
            lambda_max=found.mean,
            lambda_min=None,
            theta=self._settings.critical_t * found.error,
            phi_g=None,
            gamma=None,
            captured_share=None,
            min_release=None,
            w=None,
            drift_w=None,
            tracker_error=None,
            exact=True,
            reserved_loss=float(losses.mean()),
            learning=not self._progress.ended(),
        )
        return check, decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        """The newborn's progress counts from here."""
        self._progress.begin(step, self._probe.sight.losses)
        self._newest = (head, decision.plane)
        self._warm = None
        self._looks.clear()
        self._quiet = 0
        self._events += 1
        self._last_event_step = step
        return EnergyChange(None, None, None)

    def absorbed(self, op: DirectionalOperator, step: int, heads: int, decision: Absorb) -> EnergyChange:
        raise AssertionError("this gate never lets a head take a second plane")

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        raise AssertionError("this gate never prunes")

    def kept(self, decision: Prune) -> None:
        raise AssertionError("this gate never prunes")

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        """`sufficient`: the task asks for no further head, by the last look."""
        _, found = self._search(self._capture)
        sufficient = not self._asks(found)
        return Certificate(
            layer=self._layer,
            heads=heads,
            sufficient=sufficient,
            minimal=None,
            lambda_max=found.mean,
            lambda_min=None,
            theta=self._settings.critical_t * found.error,
            phi_g=None,
            min_release=None,
            gamma=None,
            captured_share=None,
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

    def _search(self, capture: Capture) -> tuple[Direction, Evidence]:
        sight = self._probe.sight
        search = outside(sight.search[self._layer], capture.basis)
        # The last look's direction is a start too: demand moves slowly, and a search may miss it once.
        direction = propose(search, _STARTS, _ROUNDS, self._generator, self._warm)
        return direction, judge(outside(sight.judges[self._layer], capture.basis), direction)

    def _asks(self, found: Evidence) -> bool:
        """Is demand significant, on average over the later half of the newest head's life?

        Demand at single steps is noisy, and the more often it is looked at the higher its maximum.
        """
        # Residuals of a solved task are tiny but agree, so significance alone would never end.
        if self._probe.solved(self._settings.solved):
            return False
        life = self._progress.life
        window = min(life / 2, 2 * self._settings.settle)
        recent = [t for age, t in self._looks if age > life - window] or [found.t]
        return sum(recent) / len(recent) > self._settings.critical_t

    def _give_up(self) -> None:
        """What the newest head was born for did not lower the loss: that plane is not asked for again."""
        if self._newest is not None:
            self._capture = capture_plane(self._capture, *self._newest)
            self._newest, self._warm = None, None
            self._looks.clear()


def _plane(direction: Direction) -> torch.Tensor:
    """[u, w] made orthonormal, on the CPU: Q is kept there, and so are births made."""
    query, key = direction.query[:, 0].double().cpu(), direction.key[:, 0].double().cpu()
    key = key - (query @ key) * query
    return torch.stack([query, key / key.norm()], dim=1)
