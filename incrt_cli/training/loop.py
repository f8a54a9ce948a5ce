"""The training loop: steps, the gate's observations and checks, evaluations, divergence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
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
from incrt_cli.training.complexity import complexity_row
from incrt_cli.training.course import Course, Happened, Snapshot, snapshot
from incrt_cli.training.monitor import monitor, monitored
from incrt_cli.training.optimizer import set_learning_rate
from incrt_cli.training.part import Part, Reading, add_up, reading_of
from incrt_cli.training.prepare import Prepared
from incrt_cli.training.progress import Reporter, Status
from incrt_cli.training.schedule import learning_rate, rate_shares
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
        self._rate_shares = rate_shares(
            self.total_steps, self._settings.warmup_fraction, self._settings.decay_fraction
        )
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
            losses = Losses(value, lambda: self._probe(reading.parts))
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
        model, optimizer, controller = (
            self._prepared.model,
            self._prepared.optimizer,
            self._prepared.controller,
        )
        if self.steps >= self.stream.growth_ends:
            controller = None  # it will not look again, so C and averages are of no use
        observing = controller is not None and controller.observes(self.steps)
        if controller is not None:
            controller.observe(observing)
        model.train()
        set_learning_rate(optimizer, self._rate())
        self._ranks.draw_own(self._prepared.config.seed, self.steps)
        optimizer.zero_grad(set_to_none=True)
        with self._compiling():
            loss = self._add_up(parts)
        loss = self._ranks.add_gradients(loss, model)
        if controller is not None and observing:
            controller.fold()
            controller.observe(False)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), self._settings.clip_norm)
        # The one place of a step where the CPU waits for the device.
        value, size = torch.stack([loss, norm]).tolist()
        if not math.isfinite(value) or not math.isfinite(size):
            raise self._diverged(f"loss {value:g}, gradient norm {size:g}")
        optimizer.step()
        if controller is not None:
            controller.stepped(self.steps + 1)
        return loss, value

    def _compiling(self) -> AbstractContextManager[None]:
        compiled = self._prepared.compiled
        return nullcontext() if compiled is None else compiled.explained()

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

    def _add_up(self, parts: Sequence[Part]) -> torch.Tensor:
        return add_up(self._prepared.model, parts, self._settings, self._prepared.device)

    def _probe(self, parts: Sequence[Part]) -> float:
        """The loss on the rows of the step without dropout: what an event costs."""
        model = self._prepared.model
        model.eval()
        with torch.no_grad():
            loss = self._add_up(parts)
        model.train()
        self._ranks.add([loss])
        return float(loss)

    def _record(self, checks: list[Check], events: list[Event]) -> None:
        if events:
            self._ranks.copy_first(self._prepared.model)
        for check in checks:
            spent = self._rate_shares[self.steps]
            self._run.append_metrics({"kind": "check", **asdict(check), "rate_spent": spent})
        for event in events:
            self._run.append_event({**asdict(event), "epoch": self._epoch()})
        self.course.events += [Happened(event.kind, event.step) for event in events]
        self.course.ratio = max((c.lambda_max / c.theta for c in checks if c.theta > 0), default=None)

    def _evaluate(self, loss: float) -> None:
        """Every population of the stream; what stands for the model is the one it was trained on last."""
        self._ranks.agree_on(self._prepared.model, self.steps)
        current = self.stream.population(max(self.steps - 1, 0))
        looks = monitor(self._prepared.model, self.stream.tasks, self._settings, self._prepared.device)
        present = looks[current]
        for look in looks:
            if not math.isfinite(look.result.loss):
                raise self._diverged(f"{look.split} loss {look.result.loss:g}")
        # Finite weights are not enough: the ones just before a loss of NaN may have caused it.
        self.course.last_good = snapshot(self.steps, self._prepared.model)
        self.course.accuracy = present.result.accuracy
        place = {"step": self.steps, "epoch": self._epoch()}
        for look in looks:
            self._run.append_metrics(
                {
                    "kind": "evaluation",
                    **place,
                    **look.row(),
                    "heads": sum(self._prepared.model.head_counts),
                    "train_loss": loss,
                    "learning_rate": self._rate(),
                    "seconds": time.perf_counter() - self._started,
                }
            )
        if self._settings.complexity:
            train = self.stream.tasks[current].splits["train"]
            row = complexity_row(
                self._prepared, train, present.result if present.split == "validation" else None
            )
            self._run.append_metrics({**row, **place})
        self._reporter.evaluated(self._status(loss))

    def _rate(self) -> float:
        settings = self._settings
        if settings.frozen:
            return 0.0  # AdamW then leaves every weight as it is, weight decay included
        return learning_rate(
            self.steps,
            self.total_steps,
            settings.learning_rate,
            settings.warmup_fraction,
            settings.decay_fraction,
        )

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
