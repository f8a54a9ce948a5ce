"""The pull of the task on every layer's heads, and the loss of every reserved record [ours].

Training rows propose a direction; rows that are never trained on judge it and tell how learning goes. The
second is asked more often and costs a forward pass of the reserved rows alone, unless they may be to judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from incrt_cli.data.task import Batch
from incrt_cli.geometry.view import View, joined, packed
from incrt_cli.growth.average import WeightAverage
from incrt_cli.model.classifier import Classifier
from incrt_cli.model.layer import Heads


class Draw(NamedTuple):
    """`search`: training batches; `judges`: the reserved rows, the same and in the same order every time."""

    search: Iterable[Batch]
    judges: Iterable[Batch]


Rows = Callable[[int], Draw]  # what to look at, at a step; on the model's device


class Sight(NamedTuple):
    """The view of every layer there is by now, of the rows that propose and of those that judge."""

    search: list[View]
    judges: list[View]


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
        self._judges: list[View] | None = None  # at the last look, where its pulls are taken already
        self._sight: Sight | None = None
        self._asked = False  # was the sight of the last look asked for?
        self.losses = torch.empty(0)  # of each reserved row (N, nats) at the last look
        self.step = 0  # of the last look
        self.initial_loss = math.nan  # mean over the reserved rows at the first look

    def state(self) -> dict[str, Any]:
        """What outlives a look: its losses are taken anew at every check, before anything reads them."""
        return {"initial_loss": self.initial_loss, "asked": self._asked, "average": self._average.state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.initial_loss, self._asked = state["initial_loss"], state["asked"]
        self._average.load_state(state["average"])

    def goal(self, share: float) -> float:
        """`share` of the mean reserved loss at the first look: with no more than that a task is solved."""
        return share * self.initial_loss

    def stepped(self, steps_to_look: int) -> None:
        """The model has taken a step; the next look comes so many steps later."""
        self._average.update(steps_to_look)

    def look(self, step: int) -> None:
        """Take `losses` anew; no dropout, and neither weights nor their gradients are touched.

        Who asked for the sight last time will most likely ask again: then one pass serves for both.
        """
        judges, asked = self._rows(step).judges, self._asked
        # First, since the views of the last look and of this one would be too many.
        self.step, self._sight, self._judges, self._asked = step, None, None, False
        with self._lent():
            if asked:
                self.losses, self._judges = self._seen(judges)
            else:
                self.losses = self._heard(judges)
        if math.isnan(self.initial_loss):
            self.initial_loss = float(self.losses.mean())

    @property
    def sight(self) -> Sight:
        """What is to be seen at the step of the last look; taken when it is first asked for."""
        if self._sight is None:
            draw = self._rows(self.step)
            with self._lent():
                judges = self._seen(draw.judges)[1] if self._judges is None else self._judges
                self._sight = Sight(self._seen(draw.search)[1], judges)
            self._asked = True
        return self._sight

    @contextmanager
    def _lent(self) -> Iterator[None]:
        training = self._model.training
        self._model.eval()
        try:
            with self._average.applied():
                yield
        finally:
            for layer in self._model.attention_layers:
                layer.tap = None
            self._model.train(training)

    def _losses(self, batch: Batch) -> Tensor:
        logits = self._model(batch.tokens, batch.mask)
        return F.cross_entropy(logits, batch.labels, reduction="none")

    @torch.no_grad()
    def _heard(self, batches: Iterable[Batch]) -> Tensor:
        """The loss of every row of `batches`."""
        return torch.cat([self._losses(batch) for batch in batches])

    @torch.enable_grad()
    def _seen(self, batches: Iterable[Batch]) -> tuple[Tensor, list[View]]:
        """The loss of every row of `batches`, and one view a layer of them all."""
        losses, views = zip(*(self._view(batch) for batch in batches), strict=True)
        return torch.cat(losses), [joined(layer) for layer in zip(*views, strict=True)]

    def _view(self, batch: Batch) -> tuple[Tensor, list[View]]:
        taps = [_Tap() for _ in self._model.attention_layers]
        for layer, tap in zip(self._model.attention_layers, taps, strict=True):
            layer.tap = tap
        losses = self._losses(batch)
        # The sum: one row's pull must not depend on how many others are in its batch.
        pulls = torch.autograd.grad(losses.sum(), [tap.output for tap in taps])
        views = [packed(tap.z, -pull, batch.mask) for tap, pull in zip(taps, pulls, strict=True)]
        return losses.detach(), views
