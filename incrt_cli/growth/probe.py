"""The task's demand on every layer, measured on examples that are never trained on (METHOD §4.2).

One backward pass a part gives, for every layer at once, the gradient with respect to a zero form M₀ and with
respect to the heads' summed output G. From G follows ∂L/∂W_O = (mixed values)ᵀ G of any head, existing or
only proposed, by a forward pass alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from incrt_cli.data.task import Batch
from incrt_cli.geometry.demand import Evidence, cross_fitted_square
from incrt_cli.growth.birth import newborn_head
from incrt_cli.model.classifier import Classifier
from incrt_cli.model.head_bank import HeadBank, mix
from incrt_cli.model.layer import Layer


class Draw(NamedTuple):
    """`search`: training batches that propose; `judges`: R parts that are never trained on. On the device."""

    search: Iterable[Batch]
    judges: Iterable[Batch]


Parts = Callable[[int], Draw]  # what to look at, at a step


@dataclass(frozen=True)
class Part:
    """One layer's view of one part: `z` and `pull` = −∂L/∂(heads' output), both B × n × d; `demand` D."""

    z: Tensor
    mask: Tensor | None
    pull: Tensor
    demand: Tensor


class _Tap:
    """Computes a layer's heads with M₀ added and keeps what the gradients are taken of."""

    def __init__(self, width: int, device: torch.device) -> None:
        self.form = torch.zeros(width, width, device=device, requires_grad=True)
        self.z = self.output = self.form.detach()
        self.mask: Tensor | None = None

    def __call__(self, bank: HeadBank, z: Tensor, mask: Tensor | None) -> Tensor:
        self.z, self.mask = z.detach(), mask
        bias = self.z @ self.form @ self.z.transpose(1, 2) / bank.head_width**0.5
        self.output = bank(z, mask, bias)
        return self.output


class TaskProbe:
    """Looks at `model` through the parts that `parts` draws."""

    def __init__(self, model: Classifier, parts: Parts) -> None:
        self._model, self._parts = model, parts
        self._views: list[list[Part]] = []
        self._found: list[Tensor] = []

    def refresh(self, step: int) -> None:
        """Take all gradients anew; no dropout, and neither weights nor their gradients are touched."""
        layers = self._model.attention_layers
        training = self._model.training
        self._model.eval()
        try:
            draw = self._parts(step)
            self._found = self._search(draw.search)
            self._views = [list(views) for views in zip(*map(self._view, draw.judges), strict=True)]
        finally:
            for layer in layers:
                layer.tap = None
            self._model.train(training)

    def _search(self, batches: Iterable[Batch]) -> list[Tensor]:
        """Mean D of every layer."""
        sums: list[Tensor] = []
        rows = 0
        for batch in batches:
            found = [part.demand * len(batch.labels) for part in self._view(batch)]
            sums = [a + b for a, b in zip(sums, found, strict=True)] if sums else found
            rows += len(batch.labels)
        return [total / rows for total in sums]

    def _view(self, batch: Batch) -> list[Part]:
        taps = []
        for layer in self._model.attention_layers:
            layer.tap = _Tap(layer.bank.width, batch.tokens.device)
            taps.append(layer.tap)
        loss = F.cross_entropy(self._model(batch.tokens, batch.mask), batch.labels)
        gradients = torch.autograd.grad(loss, [t.form for t in taps] + [t.output for t in taps])
        demands, pulls = gradients[: len(taps)], gradients[len(taps) :]
        return [
            Part(tap.z, tap.mask, -pull, -demand)
            for tap, pull, demand in zip(taps, pulls, demands, strict=True)
        ]

    def found(self, layer: int) -> Tensor:
        return self._found[layer]

    def views(self, layer: int) -> list[Part]:
        """Layer number `layer` as the parts of the last `refresh` show it."""
        return self._views[layer]


class LayerProbe:
    """What a gate may ask about its own layer."""

    def __init__(self, probe: TaskProbe, index: int, layer: Layer) -> None:
        self._probe, self._index, self._layer = probe, index, layer

    def search(self) -> Tensor:
        """D of the training batches (d × d)."""
        return self._probe.found(self._index)

    def judges(self) -> Tensor:
        """D of every held-out part (R × d × d)."""
        return torch.stack([part.demand for part in self._probe.views(self._index)])

    def present_rates(self) -> list[Evidence]:
        """`output_rates` of the layer's heads."""
        bank = self._layer.bank
        return output_rates(bank.input_projection.detach(), bank, self._probe.views(self._index))

    def newborn_rate(self, plane: Tensor) -> Evidence:
        """`output_rates` of a head born on `plane` (d × 2)."""
        bank = self._layer.bank
        # Its own generator, always at the same place: the figure must not depend on what was asked before.
        generator = torch.Generator().manual_seed(self._index)
        head = newborn_head(plane, bank.head_width, bank.value_width, 1.0, generator)
        return output_rates(bank.pack(head)[0], bank, self._probe.views(self._index))[0]


def output_rates(projection: Tensor, bank: HeadBank, parts: list[Part]) -> list[Evidence]:
    """How fast each head's W_O alone would lower the loss, in units of its own mixed values.

    ‖E ∂L/∂W_O‖² over the mean square of a mixed value: so neither the scale of W_V nor its age matters.
    """
    heads = len(projection)
    gradients, power = [], torch.zeros(heads, device=projection.device)
    with torch.no_grad():
        for part in parts:
            mixed = mix(projection, bank.head_width, part.z, part.mask)
            if part.mask is not None:
                mixed = mixed * part.mask.unsqueeze(-1)
            flat = mixed.reshape(-1, heads, mixed.shape[-1] // heads)
            gradients.append(torch.einsum("thv,td->hvd", flat, part.pull.reshape(-1, bank.width)))
            tokens = len(flat) if part.mask is None else int(part.mask.sum())
            power += flat.square().mean(dim=2).sum(dim=0) / (tokens * len(parts))
    stacked = torch.stack(gradients, dim=1)  # K × R × d_v × d
    return [cross_fitted_square(g / p.sqrt().clamp_min(1e-12)) for g, p in zip(stacked, power, strict=True)]
