"""The sequence classifier: embedding, layers, masked mean or first token, linear read-out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.model.layer import Layer, norm

PAD = 0


@dataclass(frozen=True)
class Architecture:
    """Everything that shapes the parameters; `heads[ℓ]` is the head count of layer ℓ now."""

    vocabulary_size: int
    max_tokens: int
    classes: int
    width: int
    head_width: int
    value_width: int
    heads: tuple[int, ...]
    ffn_multiplier: float = 0.0
    positions: bool = True
    dropout: float = 0.0
    embedding_dropout: float = 0.0
    conditioning: Conditioning | None = None
    pooling: Literal["mean", "first"] = "mean"
    layer_norm: bool = True

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "heads": list(self.heads)}

    @property
    def head_parameters(self) -> int:
        """Parameters of one head: d (2 d_k + d_v) + d_v d."""
        return 2 * self.width * (self.head_width + self.value_width)


class Classifier(nn.Module):
    """Token ids B × n (0 = padding) to class logits B × c. `recompute`: see `Layer`."""

    def __init__(self, architecture: Architecture, recompute: bool = False) -> None:
        super().__init__()
        a = architecture
        self._architecture, self._recompute = a, recompute
        self.embedding = nn.Embedding(a.vocabulary_size, a.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.positions = nn.Parameter(torch.randn(a.max_tokens, a.width) * 0.02) if a.positions else None
        self.embedding_dropout = nn.Dropout(a.embedding_dropout)
        self.layers = nn.ModuleList(self._layer(heads) for heads in a.heads)
        self.norm = norm(a.width, a.layer_norm)
        self.readout = nn.Linear(a.width, a.classes)
        nn.init.zeros_(self.readout.bias)

    @property
    def architecture(self) -> Architecture:
        """The architecture as it stands now, head counts included."""
        return replace(self._architecture, heads=tuple(self.head_counts))

    @property
    def head_counts(self) -> list[int]:
        return [layer.bank.heads for layer in self.attention_layers]

    @property
    def attention_layers(self) -> list[Layer]:
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def append_layer(self, seed: int) -> Layer:
        """Put a layer with one head on top that changes nothing yet (METHOD §7).

        Its weights follow `seed` alone. Its parameters are new: an optimiser has to be told of them.
        """
        with torch.random.fork_rng(
            devices=[]
        ):  # made on the CPU, so dropout on any device goes on as it would
            torch.default_generator.manual_seed(seed)
            layer = self._layer(heads=1)
        layer.make_identity()
        layer.compiled = self.attention_layers[-1].compiled
        self.layers.append(layer.to(self.readout.weight).train(self.training))
        return layer

    def _layer(self, heads: int) -> Layer:
        a = self._architecture
        shape = (a.width, a.head_width, a.value_width, heads, a.ffn_multiplier, a.dropout)
        return Layer(*shape, a.conditioning, a.layer_norm, self._recompute)

    def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Logits B × c; `mask` B × n is True at real tokens, None where no token is padding."""
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions[: tokens.shape[1]]
        x = self.embedding_dropout(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        logits: Tensor = self.readout(
            x[:, 0] if self._architecture.pooling == "first" else masked_mean(x, mask)
        )
        return logits


def masked_mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over real tokens: B × n × d to B × d."""
    if mask is None:
        return x.mean(dim=1)
    weights = mask.to(x.dtype).unsqueeze(-1)
    return (x * weights).sum(dim=1) / weights.sum(dim=1)


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
