"""The first steps of a run, to predict from: some of the drift that a look at step 0 misses is in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from incrt_cli.config.schema import Config
from incrt_cli.errors import UserError
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import prediction_json, prepare
from incrt_cli.training.progress import Silent


@dataclass(frozen=True)
class Foretaste:
    """After `steps` of `total_steps`: heads by then, the looks at every layer and the prediction of step 0.

    `looks` and `prediction` are laid out as in a run folder's metrics.jsonl and prediction.json.
    """

    steps: int
    total_steps: int
    heads: int
    seconds: float
    looks: list[dict[str, Any]]
    prediction: dict[str, Any]


class _Looks:
    """Keeps the looks, and nothing else that a run would write down."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def append_event(self, event: Mapping[str, Any]) -> None:
        pass

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        if row["kind"] == "check":
            self.rows.append(dict(row))


def train_a_little(config: Config, steps: int, say: Callable[[str], None]) -> Foretaste:
    """The first `steps` steps of the run that `config` describes, learning rates included; nothing is kept.

    Raises UserError for a config that does not grow by directional energy or has fewer steps, DivergedError.
    """
    if not config.gate.enabled:
        raise UserError("gate.enabled is false: a static model keeps its heads, there is nothing to predict")
    if config.gate.variant == "significance":
        raise UserError("--pilot-steps projects directional energy: take gate.variant=paper or notebook")
    prepared, looks = prepare(config, say), _Looks()
    loop = Loop(prepared, looks, Silent())
    if steps > loop.total_steps:
        raise UserError(f"--pilot-steps {steps}: the whole run has {loop.total_steps} steps")
    seconds = loop.run(steps)
    return Foretaste(
        steps=steps,
        total_steps=loop.total_steps,
        heads=sum(prepared.model.head_counts),
        seconds=seconds,
        looks=looks.rows,
        prediction=prediction_json(prepared.predictions),
    )
