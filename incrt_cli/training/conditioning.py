"""What conditioning does to a model's attention, measured on a few training rows (METHOD §9)."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from incrt_cli.data.task import Batch, Task
from incrt_cli.geometry.conditioning import (
    condition_numbers,
    jacobian_condition,
    jacobian_condition_bound,
    relative_entropy,
)
from incrt_cli.model.classifier import Classifier
from incrt_cli.model.head_bank import HeadBank
from incrt_cli.training.device import to_device

SATURATED = 0.05  # of ln n: below, nearly every query reads a single token
_ROWS, _TOKENS = 8, 8
_ENTRIES = 2**24  # of one Jacobian, 128 MiB: wider models are looked at through fewer tokens

_Read = tuple[Tensor, Tensor | None]  # Z and mask of one layer


def sample(task: Task, device: torch.device) -> Batch:
    """The first training rows: the same at every look."""
    train = task.splits["train"]
    return to_device(train.batch(np.arange(min(_ROWS, len(train)))), device)


def conditioning_rows(model: Classifier, batch: Batch, step: int) -> list[dict[str, Any]]:
    """Every layer's figures without and with the correction: medians over heads, and the worst with it.

    An infinite condition number is written as any other non-finite figure: as null.
    """
    return [
        {
            "kind": "conditioning",
            "step": step,
            "layer": index,
            "heads": layer.bank.heads,
            "figures": _figures(layer.bank, *read),
        }
        for index, (layer, read) in enumerate(zip(model.attention_layers, _reads(model, batch), strict=True))
    ]


def saturated_layers(model: Classifier, batch: Batch) -> dict[int, float]:
    """Layers whose mean entropy is below `SATURATED`, with that share of ln n."""
    found = {}
    for index, (layer, read) in enumerate(zip(model.attention_layers, _reads(model, batch), strict=True)):
        heads = zip(*layer.bank.split(layer.bank.projection.detach()), strict=True)
        share = statistics.fmean(relative_entropy(q, k, *read) for q, k, _ in heads)
        if share < SATURATED:
            found[index] = share
    return found


def _reads(model: Classifier, batch: Batch) -> list[_Read]:
    """What the heads of each layer read, without dropout."""
    reads: list[_Read] = []
    before = [(layer, layer.observer) for layer in model.attention_layers]
    training = model.training
    model.eval()
    try:
        for layer, _ in before:
            layer.observer = lambda z, mask: reads.append((z, mask))
        with torch.no_grad():
            model(batch.tokens, batch.mask)
    finally:
        for layer, observer in before:
            layer.observer = observer
        model.train(training)
    return reads


def _figures(bank: HeadBank, z: Tensor, mask: Tensor | None) -> list[dict[str, Any]]:
    bare = bank.split(bank.input_projection.detach())
    conditioned = bank.split(bank.projection.detach())
    figures = [
        _figure(f"κ(W_{name.upper()})", condition_numbers(w).tolist(), condition_numbers(c).tolist())
        for name, w, c in zip("qkv", bare, conditioned, strict=True)
    ]
    tokens = _few_tokens(bank, z, mask)
    measures: list[tuple[str, Callable[..., float]]] = [
        ("entropy / ln n", lambda q, k, _: relative_entropy(q, k, z, mask))
    ]
    if len(tokens) > 1:
        where = f"{len(tokens)} tokens"
        measures.append((f"κ(Jacobian), {where}", partial(jacobian_condition, z=tokens)))
        measures.append((f"κ(Jacobian) bound, {where}", partial(jacobian_condition_bound, z=tokens)))
    # Without a correction both are the same, and a Jacobian is too dear to be taken twice.
    distinct = (bare,) if bank.correction is None else (bare, conditioned)
    for name, measure in measures:
        values = [[measure(*head) for head in zip(*weights, strict=True)] for weights in distinct]
        figures.append(_figure(name, values[0], values[-1]))
    return figures


def _few_tokens(bank: HeadBank, z: Tensor, mask: Tensor | None) -> Tensor:
    """The first tokens (n × d) of the longest row."""
    row = 0 if mask is None else int(mask.sum(dim=1).argmax())
    real = z[row] if mask is None else z[row][mask[row]]
    entries = bank.value_width * bank.width * (2 * bank.head_width + bank.value_width)
    return real[: min(_TOKENS, _ENTRIES // entries)]


def _figure(name: str, before: list[float], after: list[float]) -> dict[str, Any]:
    worst = min(after) if name.startswith("entropy") else max(after)
    return {
        "figure": name,
        "before": statistics.median(before),
        "after": statistics.median(after),
        "worst": worst,
    }
