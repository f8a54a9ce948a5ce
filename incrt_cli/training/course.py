"""Where a run stands between two steps, apart from model, optimiser and gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from incrt_cli.model.classifier import Classifier


class Snapshot(NamedTuple):
    """A model at `step`, on the CPU; `architecture` as JSON."""

    step: int
    state: dict[str, torch.Tensor]
    architecture: dict[str, Any]


class Happened(NamedTuple):
    """An event, as far as a run's result asks for it."""

    kind: str
    step: int


@dataclass
class Course:
    """`steps` taken; `losses` since the last evaluation; `accuracy` at it and λ_max/θ_w (`ratio`) at the last
    check, for the display; `last_good`: the model at the last evaluation; `seconds` of training so far.
    """

    steps: int = 0
    events: list[Happened] = field(default_factory=list)
    losses: list[torch.Tensor] = field(default_factory=list)
    first_step_at: str | None = None
    accuracy: float | None = None
    ratio: float | None = None
    last_good: Snapshot | None = None
    seconds: float = 0.0

    def state(self) -> dict[str, Any]:
        """As tensors and plain data; without `last_good` where that is the model as it is now."""
        good = self.last_good
        return {
            **vars(self),
            "losses": torch.stack(self.losses) if self.losses else torch.empty(0),  # one tensor for all
            "last_good": None if good is None or good.step == self.steps else good,
        }

    def load_state(self, state: Mapping[str, Any], model: Classifier, device: torch.device) -> None:
        """Go on from what `state` returned; `model` is that of the same step."""
        vars(self).update(state)
        self.events = [Happened(*event) for event in state["events"]]
        self.losses = list(state["losses"].to(device).unbind())
        good = state["last_good"]
        self.last_good = snapshot(self.steps, model) if good is None else Snapshot(*good)


def snapshot(step: int, model: Classifier) -> Snapshot:
    state = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    return Snapshot(step, state, model.architecture.to_json())
