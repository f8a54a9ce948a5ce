"""What is watched while training runs: the validation split of every population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import EncodedSplit, Task
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.evaluation import Predictions, class_scores, macro_f1, predict
from incrt_cli.training.stream import POPULATIONS


class Look(NamedTuple):
    """Predictions on one split; `population` is None where there is only one."""

    population: str | None
    split: str
    labels: Sequence[str]
    result: Predictions

    def row(self) -> dict[str, Any]:
        """Its figures for the run's metrics."""
        scores = class_scores(self.result.truth, self.result.predicted, list(self.labels))
        return {
            **({} if self.population is None else {"population": self.population}),
            "split": self.split,
            "loss": self.result.loss,
            "accuracy": self.result.accuracy,
            "macro_f1": macro_f1(scores),
        }


def monitor(
    model: Classifier, tasks: Sequence[Task], settings: TrainSection, device: torch.device
) -> list[Look]:
    """A look at each of `tasks`, in their order."""
    names = POPULATIONS if len(tasks) > 1 else (None,)
    looks = []
    for population, task in zip(names, tasks, strict=True):
        name, split = monitored(task)
        looks.append(Look(population, name, task.labels, predict(model, split, settings, device)))
    return looks


def monitored(task: Task) -> tuple[str, EncodedSplit]:
    """The validation split, or the training split where none was cut: never the test split."""
    splits = task.splits
    return ("validation", splits["validation"]) if len(splits["validation"]) else ("train", splits["train"])
