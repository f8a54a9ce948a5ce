"""The training loop: steps, the gate's observations and checks, evaluations, divergence."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from incrt_cli.data.task import Batch, EncodedSplit
from incrt_cli.errors import DivergedError
from incrt_cli.growth.records import Check, Event
from incrt_cli.model.classifier import Classifier
from incrt_cli.rundir import RunWriter, utc_now
from incrt_cli.training.complexity import complexity_row
from incrt_cli.training.device import precision, to_device
from incrt_cli.training.evaluation import class_scores, macro_f1, predict
from incrt_cli.training.feed import Feed, Phase
from incrt_cli.training.optimizer import set_learning_rate
from incrt_cli.training.prepare import Prepared
from incrt_cli.training.progress import Reporter, Status
from incrt_cli.training.schedule import learning_rate


class Snapshot(NamedTuple):
    """A model at `step`, on the CPU; `architecture` as JSON."""

    step: int
    state: dict[str, torch.Tensor]
    architecture: dict[str, Any]


class Loop:
    """Trains `prepared.model` in place and writes metrics and events as they happen."""

    def __init__(self, prepared: Prepared, run: RunWriter, reporter: Reporter) -> None:
        self._prepared, self._run, self._reporter = prepared, run, reporter
        self._settings = prepared.config.train
        self._train = prepared.task.splits["train"]
        self.batches_per_epoch = math.ceil(len(self._train) / self._settings.batch_size)
        self.total_steps = math.ceil(self._settings.epochs * self.batches_per_epoch)
        self._growth_ends = self.total_steps
        phases = [Phase(0, self._train)]
        if prepared.growth_rows is not None:
            self._growth_ends = math.ceil(prepared.config.gate.until * self.total_steps)
            phases = [Phase(0, prepared.growth_rows), Phase(self._growth_ends, self._train)]
        self._feed = Feed(phases, self._settings.batch_size, prepared.config.seed)
        self._evaluate_every = max(1, round(self._settings.evaluate_every * self.batches_per_epoch))
        self.steps = 0
        self.events: list[Event] = []
        self.first_step_at: str | None = None
        self._last_good: Snapshot | None = None
        self._accuracy: float | None = None
        self._ratio: float | None = None
        self._losses: list[torch.Tensor] = []  # since the last evaluation
        self._started = 0.0

    def run(self) -> float:
        """Train to the end; returns seconds. Raises DivergedError: keep `last_good` then."""
        self._started = time.perf_counter()
        self._evaluate(loss=float("nan"))
        while self.steps < self.total_steps:
            self._step()
        return time.perf_counter() - self._started

    @property
    def last_good(self) -> Snapshot:
        """The model at the last evaluation whose loss was finite."""
        return self._last_good or snapshot(self.steps, self._prepared.model)

    def _step(self) -> None:
        if self.first_step_at is None:
            self.first_step_at = utc_now()
        batch = to_device(self._feed.batch(self.steps), self._prepared.device)
        loss = self._update(batch)
        self.steps += 1
        controller = self._prepared.controller
        if controller is not None and self.steps <= self._growth_ends and controller.checks(self.steps):
            self._record(*controller.check(self.steps, lambda: self._probe(batch)))
        self._losses.append(loss)
        self._reporter.step(self._status(float(loss)))
        if self.steps % self._evaluate_every == 0 or self.steps == self.total_steps:
            self._evaluate(float(torch.stack(self._losses).mean()))
            self._losses.clear()

    def _update(self, batch: Batch) -> torch.Tensor:
        """One optimiser step; nothing is changed where the loss or a gradient is not finite."""
        model, optimizer, controller = (
            self._prepared.model,
            self._prepared.optimizer,
            self._prepared.controller,
        )
        observing = controller is not None and controller.observes(self.steps)
        if controller is not None:
            controller.observe(observing)
        model.train()
        set_learning_rate(optimizer, self._rate())
        loss = self._loss(batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if controller is not None and observing:
            controller.fold()
            controller.observe(False)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), self._settings.clip_norm)
        if not torch.isfinite(loss) or not torch.isfinite(norm):
            raise self._diverged(f"loss {float(loss.detach()):g}, gradient norm {float(norm):g}")
        optimizer.step()
        if controller is not None:
            controller.stepped()
        return loss.detach()

    def _diverged(self, found: str) -> DivergedError:
        return DivergedError(
            f"training diverged at step {self.steps}: {found}; the model of step {self.last_good.step}, the "
            "last one evaluated, is kept. Lower train.learning_rate."
        )

    def _loss(self, batch: Batch) -> torch.Tensor:
        with precision(self._settings, self._prepared.device):
            logits = self._prepared.model(batch.tokens, batch.mask)
        return F.cross_entropy(logits.float(), batch.labels, label_smoothing=self._settings.label_smoothing)

    def _probe(self, batch: Batch) -> float:
        """The loss on `batch` without dropout: what an event costs."""
        model = self._prepared.model
        model.eval()
        with torch.no_grad():
            loss = float(self._loss(batch))
        model.train()
        return loss

    def _record(self, checks: list[Check], events: list[Event]) -> None:
        for check in checks:
            self._run.append_metrics({"kind": "check", **asdict(check)})
        for event in events:
            self._run.append_event({**asdict(event), "epoch": self._epoch()})
        self.events += events
        self._ratio = max((c.lambda_max / c.theta for c in checks if c.theta > 0), default=None)

    def _evaluate(self, loss: float) -> None:
        name, split = self._monitored()
        result = predict(self._prepared.model, split, self._settings, self._prepared.device)
        if not math.isfinite(result.loss):
            raise self._diverged(f"{name} loss {result.loss:g}")
        # Finite weights are not enough: the ones just before a loss of NaN may have caused it.
        self._last_good = snapshot(self.steps, self._prepared.model)
        labels = list(self._prepared.task.labels)
        self._accuracy = result.accuracy
        self._run.append_metrics(
            {
                "kind": "evaluation",
                "step": self.steps,
                "epoch": self._epoch(),
                "split": name,
                "loss": result.loss,
                "accuracy": result.accuracy,
                "macro_f1": macro_f1(class_scores(result.truth, result.predicted, labels)),
                "heads": sum(self._prepared.model.head_counts),
                "train_loss": loss,
                "learning_rate": self._rate(),
                "seconds": time.perf_counter() - self._started,
            }
        )
        if self._settings.complexity:
            row = complexity_row(self._prepared, result if name == "validation" else None)
            self._run.append_metrics({**row, "step": self.steps, "epoch": self._epoch()})
        self._reporter.evaluated(self._status(loss))

    def _monitored(self) -> tuple[str, EncodedSplit]:
        """The validation split, or the training split where none was cut: never the test split."""
        splits = self._prepared.task.splits
        return (
            ("validation", splits["validation"]) if len(splits["validation"]) else ("train", splits["train"])
        )

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
        return self.steps / self.batches_per_epoch

    def _status(self, loss: float) -> Status:
        return Status(
            step=self.steps,
            total_steps=self.total_steps,
            epoch=self._epoch(),
            loss=loss,
            heads=sum(self._prepared.model.head_counts),
            ratio=self._ratio,
            accuracy=self._accuracy,
            split=self._monitored()[0],
        )


def snapshot(step: int, model: Classifier) -> Snapshot:
    state = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    return Snapshot(step, state, model.architecture.to_json())
