"""The training loop: steps, the gate's observations and checks, evaluations, divergence."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import torch

from incrt_cli.data.task import EncodedSplit
from incrt_cli.errors import DivergedError
from incrt_cli.growth.records import Check, Event
from incrt_cli.rundir import utc_now
from incrt_cli.training.complexity import complexity_row
from incrt_cli.training.course import Course, Happened, Snapshot, snapshot
from incrt_cli.training.monitor import monitor, monitored
from incrt_cli.training.optimizer import set_learning_rate
from incrt_cli.training.part import Part, loss_of, part_of
from incrt_cli.training.prepare import Prepared
from incrt_cli.training.progress import Reporter, Status
from incrt_cli.training.schedule import learning_rate, rate_shares
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
        """Train to the end or to step `until`; returns seconds. Raises DivergedError: keep `last_good`."""
        self._started = time.perf_counter() - self.course.seconds
        if self.steps == 0:
            self._evaluate(loss=float("nan"))
        last = self.total_steps if until is None else until
        while self.steps < last:
            self._step(*self.stream.rows(self.steps))
            self.course.seconds = time.perf_counter() - self._started
            after_step()
        return self.course.seconds

    @property
    def last_good(self) -> Snapshot:
        """The model at the last evaluation whose loss was finite."""
        return self.course.last_good or snapshot(self.steps, self._prepared.model)

    def _step(self, train: EncodedSplit, indices: np.ndarray) -> None:
        if self.course.first_step_at is None:
            self.course.first_step_at = utc_now()
        self.last_rows = train, indices
        part = part_of(train, indices, self._ranks, self._prepared.device)
        loss = self._update(part)
        self.course.steps += 1
        controller = self._prepared.controller
        if controller is not None and self.steps <= self.stream.growth_ends and controller.checks(self.steps):
            self._record(*controller.check(self.steps, lambda: self._probe(part)))
        self.course.losses.append(loss)
        self._reporter.step(self._status(float(loss)))
        # At the shift too: what follows is held against the last moment before it.
        if self.steps % self._evaluate_every == 0 or self.steps in (self.stream.shift_step, self.total_steps):
            self._evaluate(float(torch.stack(self.course.losses).mean()))
            self.course.losses.clear()

    def _update(self, part: Part) -> torch.Tensor:
        """One optimiser step; nothing is changed where the loss or a gradient is not finite."""
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
        loss = self._loss(part)
        optimizer.zero_grad(set_to_none=True)
        if part.batch is not None:
            loss.backward()  # type: ignore[no-untyped-call]
        loss = self._ranks.add_gradients(loss, model)
        if controller is not None and observing:
            controller.fold()
            controller.observe(False)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), self._settings.clip_norm)
        if not torch.isfinite(loss) or not torch.isfinite(norm):
            raise self._diverged(f"loss {float(loss):g}, gradient norm {float(norm):g}")
        optimizer.step()
        if controller is not None:
            controller.stepped(self.steps + 1)
        return loss

    def _diverged(self, found: str) -> DivergedError:
        return DivergedError(
            f"training diverged at step {self.steps}: {found}; the model of step {self.last_good.step}, the "
            "last one evaluated, is kept. Lower train.learning_rate."
        )

    def _loss(self, part: Part) -> torch.Tensor:
        return loss_of(self._prepared.model, part, self._settings, self._prepared.device)

    def _probe(self, part: Part) -> float:
        """The loss on the rows of the step without dropout: what an event costs."""
        model = self._prepared.model
        model.eval()
        with torch.no_grad():
            loss = self._loss(part)
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
