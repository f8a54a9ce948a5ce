"""The model as it is on average over its last steps [ours].

    w̄ ← w̄ + (w − w̄) e/h   every e = ⌊h/5⌋ steps,   h the horizon in steps

At a constant learning rate single steps are noisy: weights swing about where they are heading, and with them
the loss and what a further head could do for it. Their average does not. Neighbouring steps hardly differ, so
a few of them are as good as all; and what lies more than 2 h before a look has little say in it, so the
average begins anew there and rests until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from incrt_cli.model.rows import append_rows


class WeightAverage:
    """Running mean w̄ of `model`'s parameters; heads and layers may be appended, and none removed."""

    def __init__(self, model: nn.Module, horizon: int) -> None:
        self._model, self._horizon = model, horizon
        self._every = max(1, horizon // 5)
        self._begins = 2 * horizon // self._every * self._every  # steps before a look
        self._means = {name: weights.detach().clone() for name, weights in model.named_parameters()}

    def state(self) -> dict[str, Tensor]:
        """w̄ by the parameters' names."""
        return dict(self._means)

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        weights = dict(self._model.named_parameters())
        self._means = {name: mean.to(weights[name].device) for name, mean in state.items()}

    @torch.no_grad()
    def update(self, steps_to_look: int) -> None:
        """One more step was taken; the average is asked for `steps_to_look` steps later (0: at once)."""
        if steps_to_look > self._begins or steps_to_look % self._every:
            return
        # After a rest, what the average was then is forgotten.
        weight = 1.0 if steps_to_look == self._begins else self._every / self._horizon
        for name, weights in self._model.named_parameters():
            self._aligned(name, weights).lerp_(weights, weight)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model has its average weights in here, and its own again afterwards."""
        own = {name: weights.data for name, weights in self._model.named_parameters()}
        try:
            for name, weights in self._model.named_parameters():
                weights.data = self._aligned(name, weights)
            yield
        finally:
            for name, weights in self._model.named_parameters():
                weights.data = own[name]

    def _aligned(self, name: str, weights: Tensor) -> Tensor:
        mean = self._means.setdefault(name, weights.detach().clone())
        if len(mean) < len(weights):  # a newborn has no past: it counts from where it was born
            mean = self._means[name] = append_rows(mean, weights.detach()[len(mean) :])
        return mean
