"""The pull of the task on every layer's heads, and the loss of every reserved record [ours].

Training rows propose a direction; rows that are never trained on judge it and tell how learning goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from incrt_cli.data.task import Batch
from incrt_cli.geometry.demand import View
from incrt_cli.growth.average import WeightAverage
from incrt_cli.model.classifier import Classifier
from incrt_cli.model.layer import Heads


class Draw(NamedTuple):
    """`search`: training batches; `judges`: the reserved rows, the same and in the same order every time."""

    search: Iterable[Batch]
    judges: Iterable[Batch]


Rows = Callable[[int], Draw]  # what to look at, at a step; on the model's device


class Sight(NamedTuple):
    """One look: views of every layer there is by now, and the loss of each reserved row (N, nats)."""

    search: list[list[View]]
    judges: list[list[View]]
    losses: Tensor


class _Tap:
    """Lets a layer's heads compute, and keeps what they read and give."""

    def __init__(self) -> None:
        self.z = self.output = torch.empty(0)

    def __call__(self, heads: Heads, z: Tensor, mask: Tensor | None) -> Tensor:
        self.z = z.detach()
        self.output = heads(z, mask)
        return self.output


class TaskProbe:
    """Looks at `model`, as it is on average over `horizon` steps, through the rows that `rows` draws."""

    def __init__(self, model: Classifier, rows: Rows, horizon: int) -> None:
        self._model, self._rows = model, rows
        self._average = WeightAverage(model, horizon)
        self.sight = Sight([], [], torch.empty(0))  # the last look
        self.step = 0  # of the last look
        self.initial_loss = math.nan  # mean over the reserved rows at the first look

    def state(self) -> dict[str, Any]:
        """What outlives a look: `sight` is taken anew at every check, before anything reads it."""
        return {"initial_loss": self.initial_loss, "average": self._average.state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.initial_loss = state["initial_loss"]
        self._average.load_state(state["average"])

    def solved(self, share: float) -> bool:
        """Is the reserved loss no more than `share` of what it was at the first look?"""
        return float(self.sight.losses.mean()) <= share * self.initial_loss

    def stepped(self) -> None:
        """The model has taken a step."""
        self._average.update()

    def look(self, step: int, search: bool = True) -> None:
        """Take `sight` anew; no dropout, and neither weights nor their gradients are touched.

        Without `search` there is nothing in it to seek a direction on.
        """
        training = self._model.training
        self._model.eval()
        try:
            draw = self._rows(step)
            with self._average.applied():
                searched = [self._views(batch)[0] for batch in draw.search] if search else []
                judged = [self._views(batch) for batch in draw.judges]
        finally:
            for layer in self._model.attention_layers:
                layer.tap = None
            self._model.train(training)
        losses = torch.cat([losses for _, losses in judged])
        self.sight = Sight(_by_layer(searched), _by_layer([views for views, _ in judged]), losses)
        self.step = step
        if math.isnan(self.initial_loss):
            self.initial_loss = float(losses.mean())

    def _views(self, batch: Batch) -> tuple[list[View], Tensor]:
        taps = [_Tap() for _ in self._model.attention_layers]
        for layer, tap in zip(self._model.attention_layers, taps, strict=True):
            layer.tap = tap
        losses = F.cross_entropy(self._model(batch.tokens, batch.mask), batch.labels, reduction="none")
        # The sum: one row's pull must not depend on how many others are in its batch.
        pulls = torch.autograd.grad(losses.sum(), [tap.output for tap in taps])
        views = [_view(tap.z, -pull, batch.mask) for tap, pull in zip(taps, pulls, strict=True)]
        return views, losses.detach()


def _by_layer(views: list[list[View]]) -> list[list[View]]:
    return [list(layer) for layer in zip(*views, strict=True)]


def _view(z: Tensor, pull: Tensor, mask: Tensor | None) -> View:
    if mask is None:
        return View(z, pull, torch.full((len(z),), float(z.shape[1]), device=z.device))
    real = mask.unsqueeze(-1)
    return View(z * real, pull * real, mask.sum(dim=1).to(z.dtype))
