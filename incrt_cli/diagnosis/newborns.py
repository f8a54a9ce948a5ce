"""What a head born on a plane is worth to a model whose other weights stand still (METHOD §6).

    NTK score        E ‖∂L/∂W_O‖_F² of the newborn, over batches; without bias  (‖Σ g‖² − Σ‖g‖²)/(R(R − 1))
    practical score  loss before − loss after s steps of the newborn alone, on rows not used for these steps

The mean of squared gradients of single batches contains their noise, tr Cov(g), beside the squared mean
gradient ‖E g‖²; the second form, from products of different batches alone, contains only that.
Neither has dropout, so that planes are compared and not masks [ours].
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import Batch
from incrt_cli.model.classifier import Classifier
from incrt_cli.model.head_bank import HeadBank, HeadWeights
from incrt_cli.model.layer import Heads, Layer, Tap
from incrt_cli.training.device import precision
from incrt_cli.training.optimizer import build_optimizer


class Rows(NamedTuple):
    """A batch with the output of the layer's own heads on it (B × n × d), which no newborn changes."""

    batch: Batch
    heads: Tensor


class GradientScores(NamedTuple):
    """One figure a newborn (P each), float64; `unbiased` is NaN where there was a single batch."""

    plain: Tensor
    unbiased: Tensor


def newborn_bank(bank: HeadBank, heads: Sequence[HeadWeights]) -> HeadBank:
    """`heads` as a bank of their own, corrected as births in `bank` are (METHOD §9)."""
    packed = [bank.pack(head) for head in heads]
    own = copy.deepcopy(bank)
    own.input_projection = nn.Parameter(torch.cat([rows for rows, _ in packed]))
    own.output_projection = nn.Parameter(torch.cat([rows for _, rows in packed]))
    corrections = [bank.correct(rows, head.exempt) for (rows, _), head in zip(packed, heads, strict=True)]
    own.correction = torch.cat([c for c in corrections if c is not None]) if bank.conditioning else None
    return own


class Nursery:
    """A model with room for newborns beside the heads of one layer.

    Takes the model over: it no longer asks for gradients, and stays without dropout.
    """

    def __init__(self, model: Classifier, layer: Layer, settings: TrainSection) -> None:
        self._model, self._layer, self._settings = model.requires_grad_(False).eval(), layer, settings
        self._device = layer.bank.input_projection.device

    def rows(self, batch: Batch) -> Rows:
        """`batch` with what all its passes share: a grown layer's old heads would take most of the time."""
        seen: list[Tensor] = []

        def keep(own: Heads, z: Tensor, mask: Tensor | None) -> Tensor:
            seen.append(own(z, mask))
            return seen[0]

        with torch.no_grad():
            self._logits(batch, keep)
        return Rows(batch, seen[0])

    def loss(self, rows: Rows, newborns: HeadBank | None = None) -> Tensor:
        """Mean cross-entropy of `rows` in nats, the outputs of `newborns` added to the layer's heads."""

        def heads(own: Heads, z: Tensor, mask: Tensor | None) -> Tensor:
            return rows.heads if newborns is None else rows.heads + newborns(z, mask)

        return F.cross_entropy(self._logits(rows.batch, heads).float(), rows.batch.labels)

    def _logits(self, batch: Batch, tap: Tap) -> Tensor:
        self._layer.tap = tap
        try:
            with precision(self._settings, self._device):
                logits: Tensor = self._model(batch.tokens, batch.mask)
        finally:
            self._layer.tap = None
        return logits

    def mean_loss(self, parts: Sequence[Rows], newborns: HeadBank | None = None) -> float:
        """Mean over the rows of all `parts`."""
        with torch.no_grad():
            losses = torch.stack([self.loss(part, newborns).double() for part in parts])
        rows = [len(part.batch.labels) for part in parts]
        return float(losses @ losses.new_tensor(rows) / sum(rows))

    def gradient_scores(self, newborns: HeadBank, batches: Iterable[Rows]) -> GradientScores:
        """NTK scores of all `newborns` at once: with W_O = 0 none changes what the others receive."""
        total = torch.zeros_like(newborns.output_projection, dtype=torch.float64)
        squares, count = total.new_zeros(newborns.heads), 0
        for batch in batches:
            (gradient,) = torch.autograd.grad(self.loss(batch, newborns), [newborns.output_projection])
            total += gradient
            squares += _squared(gradient.double())
            count += 1
        pairs = count * (count - 1)
        unbiased = (_squared(total) - squares) / pairs if pairs else torch.full_like(squares, torch.nan)
        return GradientScores((squares / count).cpu(), unbiased.cpu())

    def decrease(
        self, newborn: HeadBank, steps: Iterable[Rows], judges: Sequence[Rows], before: float
    ) -> float:
        """Practical score in nats: `before`, the loss on `judges` without it, less that after `steps`.

        The optimiser is training's, at its full learning rate: a gradient step alone would only repeat
        the NTK score.
        """
        optimizer = build_optimizer(newborn, self._settings)
        for batch in steps:
            optimizer.zero_grad(set_to_none=True)
            self.loss(batch, newborn).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(newborn.parameters(), self._settings.clip_norm)
            optimizer.step()
        return before - self.mean_loss(judges, newborn)


def _squared(weights: Tensor) -> Tensor:
    squared: Tensor = weights.square().sum(dim=(1, 2))
    return squared
