"""What the complexity of a model is measured on: its matrices, wherever they come from (METHOD §10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from incrt_cli.errors import UserError
from incrt_cli.geometry.complexity import Complexity, LayerSpectra, complexity
from incrt_cli.geometry.low_rank import dense_spectrum, low_rank_spectra

# Lipschitz constants L_φ of activations.
GELU = 1.13
LIPSCHITZ = {"gelu": GELU, "gelu_new": GELU, "gelu_pytorch_tanh": GELU, "relu": 1.0}


class LayerWeights(NamedTuple):
    """One layer as it acts on row vectors: a token x becomes x W.

    `w_q`, `w_k` K × d × d_k, `w_v` K × d × d_v, `w_o` K × d_v × d; `m_in` d × f and `m_out` f × d are None
    without a feed-forward block.
    """

    w_q: Tensor
    w_k: Tensor
    w_v: Tensor
    w_o: Tensor
    m_in: Tensor | None = None
    m_out: Tensor | None = None


@dataclass(frozen=True)
class ModelWeights:
    """`layers`, first to last, are read one at a time: only their spectra are kept."""

    source: str  # for messages
    width: int
    lipschitz: float
    layers: Iterable[LayerWeights]


class Measured(NamedTuple):
    """A model's complexity and what it was measured on; `heads` per layer."""

    complexity: Complexity
    width: int
    heads: tuple[int, ...]


def measure(model: ModelWeights) -> Measured:
    """Both complexity factors; raises UserError for weights that are not finite."""
    spectra = list(_spectra(model))
    heads = tuple(len(layer.qk) for layer in spectra)
    return Measured(complexity(spectra, model.width, model.lipschitz), model.width, heads)


def _spectra(model: ModelWeights) -> Iterator[LayerSpectra]:
    for number, layer in enumerate(model.layers):
        if not all(_is_finite(w) for w in layer if w is not None):
            raise UserError(f"{model.source}: layer {number} holds weights that are not finite")
        yield layer_spectra(layer)


def _is_finite(weights: Tensor) -> bool:
    # Both ends carry NaN, and no mask as large as the weights is made.
    least, largest = torch.aminmax(weights)
    return bool(torch.isfinite(least) and torch.isfinite(largest))


def layer_spectra(layer: LayerWeights) -> LayerSpectra:
    """The spectra of QK = W_Q W_Kᵀ and V = W_V W_O of every head, and of the feed-forward matrices."""
    return LayerSpectra(
        low_rank_spectra(layer.w_q, layer.w_k),
        low_rank_spectra(layer.w_v, layer.w_o.mT),
        None if layer.m_in is None else dense_spectrum(layer.m_in),
        None if layer.m_out is None else dense_spectrum(layer.m_out),
    )
