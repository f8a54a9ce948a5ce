"""A gate that sizes by the task's demand alone [ours], after METHOD §4.2.

A head is born when a head that does not exist yet could significantly lower the loss of reserved records,
and the newest head has learnt what it will. The first says whether, the second when. It never prunes.

A look reads the loss of the reserved records, and asks for demand only where the newest head has stopped
learning and the task is not solved: no head can be born otherwise. Looks are `settle`/2 steps apart, and
where there was no demand a third of the newest head's life: on a plateau nothing changes fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.capture import Capture, capture_plane, empty_capture
from incrt_cli.geometry.functional import thresholds
from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.prediction import HeadPrediction, predict_heads
from incrt_cli.geometry.spectrum import residual_spectrum
from incrt_cli.growth.demand import Demand
from incrt_cli.growth.gate import Absorb, Decision, EnergyChange, Grow, Prune
from incrt_cli.growth.probe import TaskProbe
from incrt_cli.growth.progress import Progress, interval
from incrt_cli.growth.records import Certificate, Check
from incrt_cli.growth.tally import Tally


class SignificanceGate:
    """Gate of layer number `layer`, which decides from the last look of `probe`."""

    def __init__(
        self, settings: GateSection, layer: int, width: int, generator: torch.Generator, probe: TaskProbe
    ) -> None:
        self._settings, self._layer, self._probe = settings, layer, probe
        self._capture = empty_capture(width)
        self._progress = Progress(settings.settle, settings.progress, settings.critical_t)
        self._demand = Demand(settings, layer, generator.initial_seed(), probe)
        self._newest: tuple[int, torch.Tensor] | None = None  # head and plane, until it is given up
        self._next_look = 0  # step
        self._tally = Tally()

    def calibrate(self, op: DirectionalOperator, gamma: float, heads: int) -> HeadPrediction:
        """The law's prediction, from A⁽⁰⁾: what directional energy would grow, not asked here."""
        self._begin(self._probe.step)
        self._demand.search(self._capture, self._probe.step)
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
            self._demand.look(self._capture, step, self._progress.life)
            full = self._settings.max_heads is not None and heads >= self._settings.max_heads
            if self._demand.significant(self._progress.life) and not full:
                decision = Grow(self._demand.plane, self._demand.found.mean, None)
        if due:
            self._next_look = step + self._pause(learning)
        check = Check(
            step=step,
            layer=self._layer,
            heads=heads,
            lambda_max=self._demand.found.mean,
            theta=self._demand.theta,
            exact=asked,
            reserved_loss=self._progress.loss,
            learning=learning,
        )
        return check, decision

    def born(self, op: DirectionalOperator, step: int, heads: int, head: int, decision: Grow) -> EnergyChange:
        """The newborn's progress counts from here."""
        self._begin(step)
        self._newest = (head, decision.plane)
        self._demand.forget()
        self._tally.event(step)
        return EnergyChange(None, None, None)

    def absorbed(self, op: DirectionalOperator, step: int, heads: int, decision: Absorb) -> EnergyChange:
        raise AssertionError("this gate never lets a head take a second plane")

    def pruned(self, op: DirectionalOperator, step: int, heads: int, decision: Prune) -> EnergyChange:
        raise AssertionError("this gate never prunes")

    def kept(self, decision: Prune) -> None:
        raise AssertionError("this gate never prunes")

    def certify(self, op: DirectionalOperator, heads: int) -> Certificate:
        """`sufficient`: the task is solved, or was asked since the newest head came and wants no other."""
        wanted = self._demand.significant(self._progress.life)
        sufficient = self._solved or (self._demand.asked and not wanted)
        return Certificate(
            layer=self._layer,
            heads=heads,
            sufficient=sufficient,
            minimal=None,
            lambda_max=self._demand.found.mean,
            theta=self._demand.theta,
            events=self._tally.events,
            last_event_step=self._tally.last_event_step,
            quiet_checks=self._tally.quiet_checks,
            stopped_by_itself=sufficient and self._tally.quiet_checks >= self._settings.certify_every,
        )

    def state(self) -> dict[str, Any]:
        return {
            "capture": self._capture.state(),
            "progress": self._progress.state(),
            "demand": self._demand.state(),
            "newest": self._newest,
            "next_look": self._next_look,
            "tally": self._tally.state(),
        }

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        # Q and the newest head's plane are on the CPU, wherever the layer is.
        self._capture = Capture.from_state(state["capture"])
        self._progress.load_state(state["progress"], device)
        self._demand.load_state(state["demand"], device)
        newest = state["newest"]
        self._newest = None if newest is None else (newest[0], newest[1])
        self._next_look = state["next_look"]
        self._tally.load_state(state["tally"])

    def _begin(self, step: int) -> None:
        """The newest head's life starts here."""
        self._progress.begin(step, self._probe.losses)
        self._next_look = step + interval(self._settings.settle)

    def _hear(self, step: int) -> bool:
        """Take in what the reserved records say; is the newest head still learning?"""
        self._progress.add(step, self._probe.losses)
        self._tally.check()
        ended = self._progress.ended()
        if ended and not self._progress.learnt():
            self._give_up()
        return not ended

    def _pause(self, learning: bool) -> int:
        """Steps to the next look: a whole number of intervals."""
        unit = interval(self._settings.settle)
        if learning:
            return unit
        # Demand that is not yet significant on average may soon be; where there is none, that takes longer.
        wanted = self._demand.seen and not self._solved
        return max(1, 0 if wanted else self._progress.life // (3 * unit)) * unit

    @property
    def _solved(self) -> bool:
        """Residuals of a solved task are tiny but agree, so significance alone would never end."""
        # By the loss last heard: it outlives a resume, whereas the probe has none before its next look.
        return self._progress.loss <= self._probe.goal(self._settings.solved)

    def _give_up(self) -> None:
        """What the newest head was born for did not lower the loss: that plane is not asked for again."""
        if self._newest is not None:
            self._capture = capture_plane(self._capture, *self._newest)
            self._newest = None
            self._demand.forget()
