"""What is diagnosed: the initial model of a config, or the trained model of a run folder with its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.data.build import build_task
from incrt_cli.data.shift import build_later
from incrt_cli.data.task import Task
from incrt_cli.diagnosis.planes import motor_planes
from incrt_cli.errors import UserError
from incrt_cli.geometry.capture import empty_capture
from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.rundir import Run, read_model, read_run
from incrt_cli.rundir.plain import to_plain
from incrt_cli.training.device import set_up_process
from incrt_cli.training.prepare import prepare

Say = Callable[[str], None]
_SETTABLE = ("data.", "train.", "seed=")  # the rest of a finished run is settled by its model


@dataclass(frozen=True)
class Subject:
    """`task.splits["train"]` is what training sees; `run` is None for an initial model."""

    config: Config
    device: torch.device
    task: Task
    model: Classifier
    run: Run | None

    def captured(self, layer: int) -> tuple[Tensor, str]:
        """Q of `layer` (d × r) and where it is from, in words.

        A run folder does not hold the planes, so Q is recomputed from the motors of the heads that were
        grown: where training has turned a motor, it is not the plane of its birth [ours].
        """
        bank = self.model.attention_layers[layer].bank
        nothing = empty_capture(bank.width, self.device).basis
        if self.run is None:
            return nothing, "empty: no head was born yet"
        if not self.config.gate.enabled or self.config.gate.variant != "paper":
            return nothing, "empty: the heads of this run own no planes"
        owned = planes_owned(self.run, layer, self.config.model.heads)
        if len(owned) != bank.heads:
            return nothing, "empty: events.jsonl does not account for the heads of this layer"
        found = motor_planes(bank.w_q.detach(), bank.w_k.detach(), owned)
        return found.basis, f"recomputed from the motors of the heads that own its {sum(owned)} planes"


def of_config(path: Path, overrides: Sequence[str], say: Say) -> Subject:
    """The model before its first step. Raises UserError for unusable input."""
    prepared = prepare(load_config(path, overrides), say)
    return Subject(prepared.config, prepared.device, prepared.task, prepared.model, None)


def of_run(folder: Path, overrides: Sequence[str], say: Say) -> Subject:
    """The trained model of `folder`, with its training data built again.

    Raises UserError for a folder without a model, and for data that are absent or no longer the same.
    """
    run = read_run(folder)
    if run.status == "foreign" or run.config is None:
        raise UserError(f"{run.path}: {'; '.join(run.problems)}; expected a run folder or a config")
    unsettable = [override for override in overrides if not override.startswith(_SETTABLE)]
    if unsettable:
        raise UserError(f"{unsettable[0]}: of a finished run only data.*, train.* and seed can be set")
    state, architecture, labels, vocabulary = read_model(folder)
    config = load_config(None, overrides, run.config)
    device = set_up_process(config.train, config.seed)
    task = build_task(config.data, config.name, say)
    later = build_later(config.data, task, say)
    tasks = [task] if later is None else [task, later]
    _require_same_data(run, tasks, labels, vocabulary)
    # The population that it was trained on last is the one that the model stands for.
    return Subject(config, device, tasks[-1], _model(run, state, architecture).to(device), run)


def _model(run: Run, state: Mapping[str, Tensor], stored: Mapping[str, Any]) -> Classifier:
    try:
        conditioning = stored.get("conditioning")
        if conditioning is not None:
            conditioning = Conditioning(**{**conditioning, "targets": tuple(conditioning["targets"])})
        shape = {**stored, "heads": tuple(stored["heads"]), "conditioning": conditioning}
        model = Classifier(Architecture(**shape))
        model.load_state_dict(state)
    except (TypeError, KeyError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{run.path / 'model'}: weights and architecture do not fit: {reason}") from error
    return model


def _require_same_data(
    run: Run, tasks: Sequence[Task], labels: list[str], vocabulary: Mapping[str, Any]
) -> None:
    recorded = (run.environment or {}).get("data_sha256")
    if not isinstance(recorded, Mapping):  # damaged: labels and vocabulary still tell
        recorded = {}
    # By hash, not by path: data may have moved, and generated ones lie in the cache of whoever made them.
    present = {digest for task in tasks for digest in task.sha256.values()}
    changed = [path for path, digest in recorded.items() if digest not in present]
    task = tasks[-1]
    if changed:
        raise UserError(f"{', '.join(changed)}: changed since {run.path} was trained on it; train again")
    if list(task.labels) != labels or to_plain(task.vocabulary) != vocabulary:
        raise UserError(
            f"data of {run.path}: labels or vocabulary differ from those of its model; "
            "give the data.* keys that it was trained with"
        )


def planes_owned(run: Run, layer: int, first_heads: int) -> list[int]:
    """How many planes every head of `layer` owns, in bank order, by the run's events."""
    owned = dict.fromkeys(range(first_heads), 0)
    for event in run.events or ():
        kind, head = event.get("kind"), event.get("head")
        if event.get("layer") != layer or not isinstance(head, int):
            continue
        if kind == "layer":  # one that came has a single head, however many the first ones started with
            owned = {head: 0}
        elif kind in ("birth", "capture"):
            owned[head] = owned.get(head, 0) + 1
        elif kind == "prune":
            owned.pop(head, None)
    return list(owned.values())
