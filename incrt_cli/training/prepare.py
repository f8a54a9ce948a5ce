"""Everything up to, and not including, the first step: data, model, gate, prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from incrt_cli.config.schema import ConditioningSection, Config
from incrt_cli.data.batches import epoch_batches, sequential_batches
from incrt_cli.data.build import build_task
from incrt_cli.data.shift import build_later
from incrt_cli.data.task import Batch, EncodedSplit, Task
from incrt_cli.errors import UserError
from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.controller import Depth, GrowthController
from incrt_cli.growth.probe import Draw, Rows
from incrt_cli.model.classifier import Architecture, Classifier, count_parameters
from incrt_cli.training.conditioning import sample, saturated_layers
from incrt_cli.training.device import set_up_process, to_device
from incrt_cli.training.optimizer import build_optimizer
from incrt_cli.training.ranks import ALONE, Ranks
from incrt_cli.training.room import require_room


@dataclass(frozen=True)
class Prepared:
    """A model ready for its first step; `controller` and `predictions` are absent for a static model.

    `growth_rows`: the training rows while growth lasts, without those reserved for a gate that asks the task.
    """

    config: Config
    device: torch.device
    task: Task
    model: Classifier
    optimizer: torch.optim.Optimizer
    controller: GrowthController | None
    predictions: tuple[HeadPrediction, ...]
    growth_rows: EncodedSplit | None = None
    later: Task | None = None  # the task from data.shift.at on
    ranks: Ranks = ALONE

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The task, and behind it that after the shift where there is one."""
        return (self.task,) if self.later is None else (self.task, self.later)

    @property
    def data_sha256(self) -> dict[str, str]:
        """Of every input file, by its name."""
        return {name: digest for task in self.tasks for name, digest in task.sha256.items()}

    def parameters_at(self, heads: int) -> int:
        """Parameter count if the model had `heads` heads in all."""
        surplus = heads - sum(self.model.head_counts)
        return count_parameters(self.model) + surplus * self.model.architecture.head_parameters


def prepare(
    config: Config, say: Callable[[str], None], calibrate: bool = True, ranks: Ranks = ALONE
) -> Prepared:
    """Build the task and the model, and predict the head counts. Raises UserError for unusable input.

    Without `calibrate` there are no predictions, and the gates' state is yet to be loaded.
    """
    require_room(config)
    device = set_up_process(config.train, config.seed, ranks.local if ranks.size > 1 else None)
    with ranks.turns():
        task = build_task(config.data, config.name, say)
        later = build_later(config.data, task, say)
    if later is not None and config.gate.enabled and config.gate.variant == "significance":
        raise UserError(
            "data.shift with gate.variant: significance: its reserved records are of the first population, "
            "and would ask for heads that the second does not need; take paper or notebook"
        )
    model = build_model(config, task).to(device)
    if config.conditioning.method != "none" and calibrate:
        _warn_of_saturation(model, task, say)
    optimizer = build_optimizer(model, config.train)
    controller: GrowthController | None = None
    predictions: tuple[HeadPrediction, ...] = ()
    growth_rows: EncodedSplit | None = None
    if config.gate.enabled:
        rows = None
        if config.gate.variant == "significance":
            growth_rows, judges = set_apart(task.splits["train"], config.gate.probe_rows, config.seed)
            _require_judges(judges, len(task.splits["train"]))
            rows = drawer(growth_rows, judges, config, device)
        read = task.splits["train"] if growth_rows is None else growth_rows

        def batches() -> Iterator[Batch]:
            return _calibration_batches(config, read, device)

        depth = Depth(config.depth, batches) if config.depth.enabled else None
        controller = GrowthController(model, optimizer, config.gate, config.seed, rows, depth, ranks.peers)
        predictions = tuple(controller.calibrate(batches())) if calibrate else ()
    return Prepared(
        config, device, task, model, optimizer, controller, predictions, growth_rows, later, ranks
    )


def _warn_of_saturation(model: Classifier, task: Task, say: Callable[[str], None]) -> None:
    device = next(model.parameters()).device
    for layer, share in saturated_layers(model, sample(task, device)).items():
        say(
            f"warning: attention of layer {layer} is saturated before the first step (entropy "
            f"{100 * share:.2g} % of ln n: nearly every token reads one token alone); leave q and k out of "
            "conditioning.targets, or lower conditioning.strength"
        )


def set_apart(train: EncodedSplit, rows: int, seed: int) -> tuple[EncodedSplit, EncodedSplit]:
    """`train` without some records, and those: about `rows` rows, windows of a record together."""
    records = np.unique(train.records)
    count = min(round(len(records) * rows / len(train)), len(records) // 5)
    chosen = np.random.default_rng([seed, 1]).permutation(records)[:count]
    held = np.isin(train.records, chosen)
    return train.subset(np.flatnonzero(~held)), train.subset(np.flatnonzero(held))


def _require_judges(judges: EncodedSplit, rows: int) -> None:
    # One record has no spread, so no direction could be held against it.
    if len(np.unique(judges.records)) < 2:
        raise UserError(
            "gate.variant: significance reserves gate.probe_rows of the training rows, and at most a fifth "
            f"of the records: of {rows:,} that leaves fewer than 2 records to judge by; give more data or "
            "raise gate.probe_rows, or take gate.variant=paper"
        )


def drawer(train: EncodedSplit, judges: EncodedSplit, config: Config, device: torch.device) -> Rows:
    """Training rows drawn anew for each look, as a function of seed and step, and all of `judges`."""

    def batches(split: EncodedSplit, rows: np.ndarray) -> Iterator[Batch]:
        for part in sequential_batches(split.lengths[rows], 4 * config.train.batch_size):
            yield to_device(split.batch(rows[part]), device)

    def draw(step: int) -> Draw:
        order = np.random.default_rng([config.seed, 2, step]).permutation(len(train))
        search = order[: config.gate.search_rows]
        return Draw(batches(train, search), batches(judges, np.arange(len(judges))))

    return draw


def build_model(config: Config, task: Task) -> Classifier:
    shape = config.model
    return Classifier(
        Architecture(
            vocabulary_size=task.vocabulary_size,
            max_tokens=task.max_tokens,
            classes=len(task.labels),
            width=shape.width,
            head_width=shape.head_width,
            value_width=shape.value_width,
            heads=(shape.heads,) * shape.layers,
            ffn_multiplier=shape.ffn_multiplier,
            positions=shape.positions,
            dropout=shape.dropout,
            embedding_dropout=shape.embedding_dropout,
            conditioning=_conditioning(config.conditioning),
            pooling=shape.pooling,
            layer_norm=shape.layer_norm,
        )
    )


def _conditioning(settings: ConditioningSection) -> Conditioning | None:
    if settings.method == "none":
        return None
    return Conditioning(settings.method, settings.targets, settings.strength)


def prediction_json(predictions: tuple[HeadPrediction, ...]) -> dict[str, Any]:
    """The run folder's prediction: one entry a layer, and totals (null for a static model)."""
    layers = [{"layer": index, **vars(layer)} for index, layer in enumerate(predictions)]
    names = ("k_law", "k_greedy", "k_bound")
    totals = {name: sum(layer[name] for layer in layers) if layers else None for name in names}
    return {"layers": layers, **totals}


def _calibration_batches(config: Config, train: EncodedSplit, device: torch.device) -> Iterator[Batch]:
    order = epoch_batches(train.lengths, config.train.batch_size, config.seed, 0)
    for indices in order[: config.gate.calibration_batches]:
        yield to_device(train.batch(indices), device)
