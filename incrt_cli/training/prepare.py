"""Everything up to, and not including, the first step: data, model, gate, prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from incrt_cli.config.schema import ConditioningSection, Config
from incrt_cli.data.batches import epoch_batches, padding_share
from incrt_cli.data.build import build_task
from incrt_cli.data.shift import build_later
from incrt_cli.data.task import Batch, EncodedSplit, Task
from incrt_cli.errors import UserError
from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.controller import Depth, GrowthController
from incrt_cli.model.classifier import Architecture, Classifier, count_parameters
from incrt_cli.training.conditioning import sample, saturated_layers
from incrt_cli.training.device import set_up_process, to_device
from incrt_cli.training.optimizer import build_optimizer
from incrt_cli.training.ranks import ALONE, Ranks
from incrt_cli.training.reserved import drawer, set_apart
from incrt_cli.training.room import require_room

if TYPE_CHECKING:
    from incrt_cli.model.compiled import CompiledBlock


@dataclass(frozen=True)
class Prepared:
    """A model ready for its first step; `controller` and `predictions` are absent for a static model.

    `built_optimizer` is absent where nothing will be trained.
    `growth_rows`: the training rows while growth lasts, without those reserved for a gate that asks the task.
    """

    config: Config
    device: torch.device
    task: Task
    model: Classifier
    built_optimizer: torch.optim.Optimizer | None
    controller: GrowthController | None
    predictions: tuple[HeadPrediction, ...]
    growth_rows: EncodedSplit | None = None
    later: Task | None = None  # the task from data.shift.at on
    ranks: Ranks = ALONE
    compiled: CompiledBlock | None = None  # what the layers' training steps go through

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Of a model that will be trained."""
        assert self.built_optimizer is not None
        return self.built_optimizer

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The task, and behind it that after the shift where there is one."""
        return (self.task,) if self.later is None else (self.task, self.later)

    @property
    def padding(self) -> float:
        """Share of the positions of the first epoch's training batches that hold no token."""
        lengths = self.task.splits["train"].lengths
        return padding_share(
            lengths, epoch_batches(lengths, self.config.train.batch_size, self.config.seed, 0)
        )

    @property
    def data_sha256(self) -> dict[str, str]:
        """Of every input file, by its name."""
        return {name: digest for task in self.tasks for name, digest in task.sha256.items()}

    def parameters_at(self, heads: int) -> int:
        """Parameter count if the model had `heads` heads in all."""
        surplus = heads - sum(self.model.head_counts)
        return count_parameters(self.model) + surplus * self.model.architecture.head_parameters


def prepare(
    config: Config,
    say: Callable[[str], None],
    calibrate: bool = True,
    ranks: Ranks = ALONE,
    trains: bool = True,
) -> Prepared:
    """Build the task and the model, and predict the head counts. Raises UserError for unusable input.

    Without `calibrate` there are no predictions, and the gates' state is yet to be loaded. Without `trains`
    there is no optimizer, the first of which costs two seconds: it imports torch's compiler.
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
    optimizer = build_optimizer(model, config.train) if trains else None
    controller: GrowthController | None = None
    predictions: tuple[HeadPrediction, ...] = ()
    growth_rows: EncodedSplit | None = None
    if config.gate.enabled:
        rows = None
        if config.gate.variant == "significance":
            growth_rows, judges = set_apart(task.splits["train"], config.gate.probe_rows, config.seed)
            rows = drawer(growth_rows, judges, config, device)
        read = task.splits["train"] if growth_rows is None else growth_rows

        def batches() -> Iterator[Batch]:
            return _calibration_batches(config, read, device)

        depth = Depth(config.depth, batches) if config.depth.enabled else None
        controller = GrowthController(model, optimizer, config.gate, config.seed, rows, depth, ranks.peers)
        predictions = tuple(controller.calibrate(batches())) if calibrate else ()
    compiled = _compiled(model) if config.train.compile else None
    return Prepared(
        config, device, task, model, optimizer, controller, predictions, growth_rows, later, ranks, compiled
    )


def _compiled(model: Classifier) -> CompiledBlock:
    try:
        from incrt_cli.model.compiled import CompiledBlock  # seconds that other runs can do without
    except ImportError as error:  # torch names parts of its compiler anew from version to version
        raise UserError(
            f"train.compile does not know the compiler of torch {torch.__version__} ({error}): take a newer "
            "torch, or train.compile=false"
        ) from error

    block = CompiledBlock()
    block.install(model)
    return block


def _warn_of_saturation(model: Classifier, task: Task, say: Callable[[str], None]) -> None:
    device = next(model.parameters()).device
    for layer, share in saturated_layers(model, sample(task, device)).items():
        say(
            f"warning: attention of layer {layer} is saturated before the first step (entropy "
            f"{100 * share:.2g} % of ln n: nearly every token reads one token alone); leave q and k out of "
            "conditioning.targets, or lower conditioning.strength"
        )


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
        ),
        config.train.recompute,
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
