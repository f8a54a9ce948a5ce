"""Training as a run does it, without a run folder: the real loop, driven in blocks of steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from incrt_cli.config.schema import Config
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import Prepared, prepare
from incrt_cli.training.progress import Silent

# Evaluations and snapshots are no part of a step.
STEPS_ALONE = {
    "train.evaluate_every": 1e6, "train.complexity": False, "gate.until": 1.0, "depth.enabled": False,
}  # fmt: skip


class Notes:
    """A journal in memory."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []

    def append_event(self, event: Mapping[str, Any]) -> None:
        self.events.append(dict(event))

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        self.rows.append(dict(row))


def changed(config: Config, settings: Mapping[str, Any]) -> Config:
    """`config` with other values of some keys, named "section.key"; they are not validated again."""
    sections: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    updates = {name: getattr(config, name).model_copy(update=keys) for name, keys in sections.items()}
    return config.model_copy(update=updates)


def ready(config: Config) -> Prepared:
    """As before the first step of a run, without a word."""
    return prepare(config, lambda line: None)


class Driven(NamedTuple):
    """A run in memory: its loop trains `model` and writes into `notes`."""

    model: Classifier
    loop: Loop
    notes: Notes

    @property
    def heads(self) -> int:
        return sum(self.model.head_counts)


def drive(prepared: Prepared, steps: int | None = None) -> Driven:
    """The run of `prepared`, to its end or as if it were `steps` steps long."""
    if steps is not None:
        train, batch_size = prepared.task.splits["train"], prepared.config.train.batch_size
        epochs = steps / math.ceil(len(train) / batch_size)
        prepared = replace(prepared, config=changed(prepared.config, {"train.epochs": epochs}))
    notes = Notes()
    return Driven(prepared.model, Loop(prepared, notes, Silent()), notes)
