"""How many heads, after a few real steps: the drift that a prediction at step 0 misses comes early [ours].

k_pilot = heads at the last exact look + planes that greedy deflation of the operator of then still needs.
"""

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
    """After `steps` of `total_steps`; `k_pilot` over all layers, None where one of them was not looked at."""

    steps: int
    total_steps: int
    heads: int
    k_pilot: int | None
    seconds: float
    prediction: Mapping[str, Any]  # that of before the first step, as in prediction.json


class _Looks:
    """Keeps the last projection of every layer, and nothing else that a run would write down."""

    def __init__(self) -> None:
        self.projected: dict[int, int | None] = {}

    def append_event(self, event: Mapping[str, Any]) -> None:
        pass

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        if row["kind"] == "check":
            layer = row["layer"]
            self.projected[layer] = row["projected"] or self.projected.get(layer)


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
    counts = [count for count in looks.projected.values() if count is not None]
    known = counts and len(counts) == len(prepared.model.head_counts)
    return Foretaste(
        steps=steps,
        total_steps=loop.total_steps,
        heads=sum(prepared.model.head_counts),
        k_pilot=sum(counts) if known else None,
        seconds=seconds,
        prediction=prediction_json(prepared.predictions),
    )
