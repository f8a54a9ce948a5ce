"""A training step on one batch, and models of any shape with random tokens: cost curves and memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from incrt_cli.config.schema import Config, TrainSection
from incrt_cli.data.task import Batch
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.training.optimizer import build_optimizer
from incrt_cli.training.part import Part, add_up

_VOCABULARY = 4098  # of 6-mers
_CLASSES = 6
_LONGEST = 128  # tokens, where the config allows for more


@dataclass(frozen=True)
class Shape:
    """B rows of n tokens, through `layers` layers of width d with K heads of d_k = d_v, to c classes.

    `ffn`: the width of the feed-forward in units of d; 0: none.
    """

    batch: int
    tokens: int
    width: int
    head_width: int
    heads: int
    classes: int
    layers: int = 1
    ffn: float = 0.0

    def named(self) -> dict[str, int | float | str]:
        return {
            "B": self.batch, "n": self.tokens, "d": self.width, "d_k": self.head_width, "K": self.heads,
            "classes": self.classes, "layers": self.layers, "ffn": self.ffn,
        }  # fmt: skip


class Step:
    """One training step of `model` on `batch`: forward, backward, clipping, update."""

    def __init__(
        self, model: Classifier, optimizer: torch.optim.Optimizer, batch: Batch, settings: TrainSection
    ) -> None:
        self._model, self._optimizer, self._batch, self._settings = model, optimizer, batch, settings

    def __call__(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        add_up(self._model, [Part(self._batch, 1.0)], self._settings, self._batch.tokens.device)
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._settings.clip_norm)
        self._optimizer.step()


def shape_of(config: Config, heads: int) -> Shape:
    """The config's model with `heads` heads, on rows as long as its longest, but not beyond 128 tokens."""
    model = config.model
    tokens = min(config.data.max_tokens, _LONGEST)
    return Shape(
        batch=config.train.batch_size,
        tokens=tokens,
        width=model.width,
        head_width=model.head_width,
        heads=heads,
        classes=_CLASSES,
        layers=model.layers,
        ffn=model.ffn_multiplier,
    )


def random_step(shape: Shape, settings: TrainSection, device: torch.device) -> Step:
    """A step on random tokens without padding."""
    model = random_model(shape).to(device)
    tokens = torch.randint(1, _VOCABULARY, (shape.batch, shape.tokens), device=device)
    labels = torch.randint(shape.classes, (shape.batch,), device=device)
    return Step(model, build_optimizer(model, settings), Batch(tokens, None, labels), settings)


def random_model(shape: Shape) -> Classifier:
    return Classifier(
        Architecture(
            vocabulary_size=_VOCABULARY,
            max_tokens=shape.tokens,
            classes=shape.classes,
            width=shape.width,
            head_width=shape.head_width,
            value_width=shape.head_width,
            heads=(shape.heads,) * shape.layers,
            ffn_multiplier=shape.ffn,
        )
    )
