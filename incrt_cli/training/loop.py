"""The training loop: steps, the gate's observations and checks, evaluations, divergence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import torch

from incrt_cli.data.task import EncodedSplit
from incrt_cli.errors import DivergedError
from incrt_cli.growth.operations import Losses
from incrt_cli.growth.records import Check, Event
from incrt_cli.rundir import utc_now
from incrt_cli.training.ahead import depth_for, made_ahead
from incrt_cli.training.course import Course, Happened, Snapshot, snapshot
from incrt_cli.training.losses import loss_with_gradients, loss_without_dropout
from incrt_cli.training.metrics import check_row, evaluation_rows
from incrt_cli.training.monitor import monitor, monitored
from incrt_cli.training.optimizer import set_learning_rate
from incrt_cli.training.part import Part, Reading, reading_of
from incrt_cli.training.prepare import Prepared
from incrt_cli.training.progress import Reporter, Status
from incrt_cli.training.schedule import Schedule
from incrt_cli.training.shortage import enough_to_look, naming_step
from incrt_cli.training.stream import Stream


class Journal(Protocol):
    """Takes down what happens, as a run folder does."""

    def append_event(self, event: Mapping[str, Any]) -> None: ...

    def append_metrics(self, row: Mapping[str, Any]) -> None: ...


class Loop:
    """Trains `prepared.model` in place and writes metrics and events as they happen."""

    def __init__(self, prepared: Prepared, run: Journal, reporter: Reporter) -> None:
        self._prepared, self._run, self._reporter = prepared, run, reporter
        self._settings, self._ranks = prepared.config.train, prepared.ranks
        self.stream = Stream(prepared.tasks, prepared.config, prepared.growth_rows)
        self.total_steps = self.stream.total_steps
        self._evaluate_every = max(1, round(self._settings.evaluate_every * self.stream.batches_per_epoch))
        self._schedule = Schedule(self._settings, self.total_steps)
        self.course = Course()
        self.last_rows: tuple[EncodedSplit, np.ndarray] | None = None  # read by the last step begun
        self._started = 0.0

    @property
    def steps(self) -> int:
        return self.course.steps

    def run(self, until: int | None = None, after_step: Callable[[], None] = lambda: None) -> float:
        """Train to the end or to step `until`; returns seconds.

        Raises DivergedError: keep `last_good`. ShortOfMemoryError: the state is that of no step.
        """
        self._started = time.perf_counter() - self.course.seconds
        last = self.total_steps if until is None else until
        depth = depth_for(self._prepared.device)
        with (
            naming_step(lambda: f"step {self.steps} of {self.total_steps}"),
            closing(made_ahead(self._read, range(self.steps, last), depth)) as readings,
        ):
            if self.steps == 0:
                self._evaluate(loss=float("nan"))
            for reading in readings:
                self._step(reading)
                self.course.seconds = time.perf_counter() - self._started
                after_step()
        return self.course.seconds

    @property
    def last_good(self) -> Snapshot:
        """The model at the last evaluation whose loss was finite."""
        return self.course.last_good or snapshot(self.steps, self._prepared.model)

    def _read(self, step: int) -> Reading:
        split, rows = self.stream.rows(step)
        return reading_of(split, rows, self._ranks, self._settings.accumulate, self._prepared.device)

    def _step(self, reading: Reading) -> None:
        if self.course.first_step_at is None:
            self.course.first_step_at = utc_now()
        self.last_rows = reading.split, reading.rows
        loss, value = self._update(reading.parts)
        self.course.steps += 1
        controller = self._prepared.controller
        if controller is not None and self.steps <= self.stream.growth_ends and controller.checks(self.steps):
            losses = Losses(value, lambda: loss_without_dropout(self._prepared, reading.parts))
            with enough_to_look(reading.split.lengths, self._prepared.model, self._settings):
                found = controller.check(self.steps, losses)
            self._record(*found)
        self.course.losses.append(loss)
        self._reporter.step(self._status(value))
        # At the shift too: what follows is held against the last moment before it.
        if self.steps % self._evaluate_every == 0 or self.steps in (self.stream.shift_step, self.total_steps):
            self._evaluate(float(torch.stack(self.course.losses).mean()))
            self.course.losses.clear()

    def _update(self, parts: Sequence[Part]) -> tuple[torch.Tensor, float]:
        """One optimiser step, its loss on the device and here; where that or a gradient is not finite nothing
        is changed.
        """
        prepared, model, optimizer = self._prepared, self._prepared.model, self._prepared.optimizer
        # Once growth has ended it will not look again, so C and averages are of no use.
        controller = prepared.controller if self.steps < self.stream.growth_ends else None
        set_learning_rate(optimizer, self._schedule.rate(self.steps))
        loss = loss_with_gradients(prepared, parts, self.steps, controller)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), self._settings.clip_norm)
        # The one place of a step where the CPU waits for the device.
        value, size = torch.stack([loss, norm]).tolist()
        if not math.isfinite(value) or not math.isfinite(size):
            raise self._diverged(f"loss {value:g}, gradient norm {size:g}")
        optimizer.step()
        if controller is not None:
            controller.stepped(self.steps + 1)
        return loss, value

    def _diverged(self, found: str) -> DivergedError:
        cure = (
            "Lower train.learning_rate."
            if self.steps
            else "Nothing was trained yet: lower conditioning.strength, or take model.layer_norm=true."
        )
        return DivergedError(
            f"training diverged at step {self.steps}: {found}; the model of step {self.last_good.step}, the "
            f"last one evaluated, is kept. {cure}"
        )

    def _record(self, checks: list[Check], events: list[Event]) -> None:
        if events:
            self._ranks.copy_first(self._prepared.model)
        for check in checks:
            self._run.append_metrics(check_row(check, self._schedule.spent(self.steps)))
        for event in events:
            self._run.append_event({**asdict(event), "epoch": self._epoch()})
        self.course.events += [Happened(event.kind, event.step) for event in events]
        self.course.ratio = max((c.lambda_max / c.theta for c in checks if c.theta > 0), default=None)

    def _evaluate(self, loss: float) -> None:
        """Every population of the stream; what stands for the model is the one it was trained on last."""
        self._ranks.agree_on(self._prepared.model, self.steps)
        current = self.stream.population(max(self.steps - 1, 0))
        looks = monitor(self._prepared.model, self.stream.tasks, self._settings, self._prepared.device)
        for look in looks:
            if not math.isfinite(look.result.loss):
                raise self._diverged(f"{look.split} loss {look.result.loss:g}")
        # Finite weights are not enough: the ones just before a loss of NaN may have caused it.
        self.course.last_good = snapshot(self.steps, self._prepared.model)
        self.course.accuracy = looks[current].result.accuracy
        place = {"step": self.steps, "epoch": self._epoch()}
        running = {
            "train_loss": loss,
            "learning_rate": self._schedule.rate(self.steps),
            "seconds": time.perf_counter() - self._started,
        }
        for row in evaluation_rows(self._prepared, looks, current, place, running):
            self._run.append_metrics(row)
        self._reporter.evaluated(self._status(loss))

    def _epoch(self) -> float:
        return self.steps / self.stream.batches_per_epoch

    def _status(self, loss: float) -> Status:
        return Status(
            step=self.steps,
            total_steps=self.total_steps,
            epoch=self._epoch(),
            loss=loss,
            heads=sum(self._prepared.model.head_counts),
            ratio=self.course.ratio,
            accuracy=self.course.accuracy,
            split=monitored(self._prepared.task)[0],
        )
