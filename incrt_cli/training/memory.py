"""Bytes that training will hold at its peak, before it begins [ours].

    peak = held + max(step, look, evaluation, checkpoint)

    held   4 P (w, ∇L, two moments of Adam; w̄ where a gate asks the task; on a CPU the last good w and its
           successor) + C of every layer + the views of the last look
    step   Σ_ℓ kept_ℓ + max_ℓ transient_ℓ, for the rows that pass together (B × n, N = B n)

    kept_ℓ   4 N d (2 + p) + bank + feed,   transient_ℓ = max(t − feed + 8 N d, s N h + 4 N d)
    bank     t + 4 N K,  t = 4 s N K max(d_k, d_v): the kernel of attention makes the scores anew in backward
    feed     4 N d (2 + p) + 2 s N h where there is a feed-forward of h units

P parameters, s bytes of a number in a matrix product (4, in bfloat16 2), p = 1 with dropout. With `recompute`
a layer keeps neither bank nor feed but what goes into them, and one of either comes on top. What the process
holds before it builds a model, and what its allocator loses between blocks, are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from incrt_cli.model.classifier import Architecture

_FLOAT, _DOUBLE = 4, 8


@dataclass(frozen=True)
class Load:
    """What passes through the model: `rows` of `tokens` together in a step, `wide` in an evaluation, `looked`
    in a look of a gate that `asks` the task, whose views are of `viewed` tokens in all.
    """

    rows: int
    tokens: int
    wide: int
    looked: int = 0
    viewed: int = 0
    asks: bool = False
    recompute: bool = False
    bfloat16: bool = False
    cuda: bool = False


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes with `heads` in the layers and `rows` × `tokens` a piece; `peak` is of the parts as above."""

    heads: tuple[int, ...]
    rows: int
    tokens: int
    held: int
    step: int
    look: int
    evaluation: int
    checkpoint: int
    peak: int


class _Layer(NamedTuple):
    """Bytes of a layer's activations: kept until its backward, and there in it besides."""

    kept: int
    transient: int


def estimate_memory(
    shape: Architecture, heads: tuple[int, ...], parameters: int, load: Load
) -> MemoryEstimate:
    """The peak of training a model of `parameters` parameters with `heads` in its layers."""
    weights, d = _FLOAT * parameters, shape.width
    views = 2 * _FLOAT * len(heads) * load.viewed * d
    copies = 4 + load.asks + (0 if load.cuda else 2)
    held = copies * weights + len(heads) * (_DOUBLE + _FLOAT) * d * d + views
    step = _pass(shape, heads, load, load.rows)
    # The batches' views are there until they are joined, and no look computes in bfloat16.
    exact = replace(load, bfloat16=False)
    look = views + _pass(shape, heads, exact, load.looked) if load.asks else 0
    evaluation = _forward(shape, max(heads), load, load.wide)
    checkpoint = 2 * (4 + load.asks) * weights
    peak = held + max(step, look, evaluation, 0 if load.cuda else checkpoint)
    return MemoryEstimate(heads, load.rows, load.tokens, held, step, look, evaluation, checkpoint, peak)


def _pass(shape: Architecture, heads: tuple[int, ...], load: Load, rows: int) -> int:
    """Activations of `rows` rows with gradients, when most of them are there."""
    layers = [_layer(shape, k, load, rows) for k in heads]
    width = _FLOAT * rows * load.tokens * shape.width
    below = width * (1 + (shape.embedding_dropout > 0))
    return below + sum(layer.kept for layer in layers) + max(layer.transient for layer in layers)


def _layer(shape: Architecture, heads: int, load: Load, rows: int) -> _Layer:
    size, positions = 2 if load.bfloat16 else _FLOAT, rows * load.tokens
    width = _FLOAT * positions * shape.width
    outer = width * (2 + (shape.dropout > 0))
    gradients = _projected(shape, heads, size * positions)
    bank = gradients + _FLOAT * positions * heads
    hidden = size * positions * round(shape.width * shape.ffn_multiplier)
    feed = outer + 2 * hidden if hidden else 0
    if load.recompute:
        entering = width if hidden else 0
        return _Layer(outer + entering, max(bank + gradients + 2 * width, feed + hidden + width))
    return _Layer(outer + bank + feed, max(gradients + 2 * width - feed, hidden + width))


def _forward(shape: Architecture, heads: int, load: Load, rows: int) -> int:
    """Activations of `rows` rows without gradients, in a layer with `heads`."""
    size, positions = 2 if load.bfloat16 else _FLOAT, rows * load.tokens
    bank = _projected(shape, heads, size * positions)
    if shape.head_width != shape.value_width:  # what was projected stands beside its padded copies
        bank += size * positions * heads * (2 * shape.head_width + shape.value_width)
    hidden = 2 * size * positions * round(shape.width * shape.ffn_multiplier)
    return max(bank, hidden) + 4 * _FLOAT * positions * shape.width


def _projected(shape: Architecture, heads: int, bytes_each: int) -> int:
    """Queries, keys, values and what attention makes of them, padded to the wider of the two widths."""
    return 4 * heads * max(shape.head_width, shape.value_width) * bytes_each
