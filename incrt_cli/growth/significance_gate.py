"""A gate that sizes by the task's demand alone [ours], after METHOD §4.2.

A head is born when a head that does not exist yet could significantly lower the loss of reserved records,
and the newest head has learnt what it will. The first says whether, the second when. It never prunes.

A look reads the loss of the reserved records, and asks for demand only where the newest head has stopped
learning and the task is not solved: no head can be born otherwise. Looks are `settle`/2 steps apart, and
where there was no demand a quarter of the newest head's life: on a plateau nothing changes fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.capture import Capture, capture_plane, empty_capture
from incrt_cli.geometry.demand import Direction, Evidence, judge, outside, propose
from incrt_cli.geometry.functional import thresholds
from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.prediction import HeadPrediction, predict_heads
from incrt_cli.geometry.spectrum import residual_spectrum
from incrt_cli.growth.gate import Absorb, Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.probe import TaskProbe
from incrt_cli.growth.progress import Progress, interval
from incrt_cli.growth.records import Certificate, Check

# Demand has many maxima: with 4 starts a search missed the surest of them in two cases of three.
_STARTS, _ROUNDS = 16, 8


class SignificanceGate:
    """Gate of layer number `layer`, which decides from the last look of `probe`."""

    def __init__(
        self, settings: GateSection, layer: int, width: int, generator: torch.Generator, probe: TaskProbe
    ) -> None:
        self._settings, self._layer, self._probe = settings, layer, probe
        self._seed = generator.initial_seed()
        self._capture = empty_capture(width)
        self._progress = Progress(settings.settle, settings.progress, settings.critical_t)
        self._direction: Direction | None = None  # found last
        self._found = Evidence(0.0, 0.0, 0.0)  # for it, when demand was last asked for
        self._newest: tuple[int, torch.Tensor] | None = None  # head and plane, until it is given up
        # The newest's age and t whenever demand was asked for since the question last changed.
        self._looks: list[tuple[int, float]] = []
        self._next_look = 0  # step
        self._events = self._quiet = 0
        self._last_event_step: int | None = None

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """The law's prediction, from A⁽⁰⁾: what directional energy would grow, not asked here."""
        self._begin(self._probe.step)
        self._found = self._search(self._capture, self._probe.step)
        limits = thresholds(gamma, self._settings.growth_fraction, self._settings.prune_ratio)
        spectrum = residual_spectrum(op, empty_capture(len(op.left), op.left.device).basis)
        return predict_heads(spectrum.values, gamma, limits, heads)

    def next_look(self, step: int) -> int:
        return self._next_look

    def check(self, op: DirectionalOperator, step: int, heads: int) -> tuple[Check, Decision]:
        """Grow, or nothing. Looks that another layer or the depth rule is due for bring no search here."""
        learning = self._hear(step)
        decision = None
        due = step >= self._next_look
        asked = due and not (learning or self._solved)
        if asked:
            self._ask(step)
            full = self._settings.max_heads is not None and heads >= self._settings.max_heads
            if self._asks() and not full:
                decision = Grow(_plane(self._direction), self._found.mean, None)
        if due:
            self._next_look = step + self._pause(learning)
        found = self._found
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
            exact=asked,
            reserved_loss=self._progress.loss,
            learning=learning,
        )
        return check, decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        """The newborn's progress counts from here."""
        self._begin(step)
        self._newest = (head, decision.plane)
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
        """`sufficient`: the task is solved, or was asked since the newest head came and wants no other."""
        found = self._found
        sufficient = self._solved or (bool(self._looks) and not self._asks())
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

    def state(self) -> dict[str, Any]:
        return {
            "capture": self._capture.state(),
            "progress": self._progress.state(),
            "direction": self._direction,
            "found": self._found,
            "newest": self._newest,
            "looks": self._looks,
            "next_look": self._next_look,
            "events": self._events,
            "quiet": self._quiet,
            "last_event_step": self._last_event_step,
        }

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        # Q and the newest head's plane are on the CPU, wherever the layer is.
        self._capture = Capture.from_state(state["capture"])
        self._progress.load_state(state["progress"], device)
        direction, newest = state["direction"], state["newest"]
        self._direction = None if direction is None else Direction(*(part.to(device) for part in direction))
        self._found = Evidence(*state["found"])
        self._newest = None if newest is None else (newest[0], newest[1])
        self._looks = [(age, t) for age, t in state["looks"]]
        self._next_look = state["next_look"]
        self._events, self._quiet = state["events"], state["quiet"]
        self._last_event_step = state["last_event_step"]

    def _begin(self, step: int) -> None:
        """The newest head's life starts here."""
        self._progress.begin(step, self._probe.losses)
        self._next_look = step + interval(self._settings.settle)

    def _hear(self, step: int) -> bool:
        """Take in what the reserved records say; is the newest head still learning?"""
        self._progress.add(step, self._probe.losses)
        self._quiet += 1
        ended = self._progress.ended()
        if ended and not self._progress.learnt():
            self._give_up()
        return not ended

    def _ask(self, step: int) -> None:
        self._found = self._search(self._capture, step)
        self._looks.append((self._progress.life, self._found.t))

    def _pause(self, learning: bool) -> int:
        """Steps to the next look: a whole number of intervals."""
        unit = interval(self._settings.settle)
        if learning:
            return unit
        # Demand that is not yet significant on average may soon be; where there is none, that takes longer.
        wanted = self._found.t > self._settings.critical_t and not self._solved
        return max(1, 0 if wanted else self._progress.life // (4 * unit)) * unit

    def _search(self, capture: Capture, step: int) -> Evidence:
        """Point `_direction` to the surest demand outside `capture`, and judge it."""
        view = outside(self._probe.sight.search[self._layer], capture.basis)
        # Seeded by the step: what a search finds must not depend on how many there were before.
        seed = int(np.random.default_rng([self._seed, self._layer, step]).integers(2**62))
        starts = torch.Generator().manual_seed(seed)
        # The last direction is a start too: demand moves slowly, and a search may miss it once.
        self._direction = propose(view, _STARTS, _ROUNDS, starts, self._direction)
        return self._judge(capture)

    def _judge(self, capture: Capture) -> Evidence:
        assert self._direction is not None
        return judge(outside(self._probe.sight.judges[self._layer], capture.basis), self._direction)

    def _asks(self) -> bool:
        """Is demand significant, on average over the later half of the newest head's life?

        Demand at single steps is noisy, and the more often it is looked at the higher its maximum. So after
        a long pause one look is not enough: the one before it counts, or another that is soon to come.
        """
        if self._solved:
            return False
        life = self._progress.life
        window = min(life / 2, 2 * self._settings.settle)
        recent = [t for age, t in self._looks if age > life - window]
        recent = recent if len(recent) > 1 else [t for _, t in self._looks[-2:]] or [self._found.t]
        return sum(recent) / len(recent) > self._settings.critical_t

    @property
    def _solved(self) -> bool:
        """Residuals of a solved task are tiny but agree, so significance alone would never end."""
        return self._progress.loss <= self._settings.solved * self._probe.initial_loss

    def _give_up(self) -> None:
        """What the newest head was born for did not lower the loss: that plane is not asked for again."""
        if self._newest is not None:
            self._capture = capture_plane(self._capture, *self._newest)
            self._newest = None
            self._looks.clear()


def _plane(direction: Direction | None) -> torch.Tensor:
    """[u, w] made orthonormal, on the CPU: Q is kept there, and so are births made."""
    assert direction is not None
    query, key = direction.query[:, 0].double().cpu(), direction.key[:, 0].double().cpu()
    key = key - (query @ key) * query
    return torch.stack([query, key / key.norm()], dim=1)
