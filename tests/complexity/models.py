"""Small models to measure, checkpoint folders to read, and METHOD §10 once more: dense and slow."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from incrt_cli.complexity.weights import LayerWeights

WIDTH, HEADS, DEPTH = 8, 2, 3
SIZES = {
    "hidden_size": WIDTH, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS, "hidden_act": "gelu",
}  # fmt: skip
BERT = ("encoder.layer.", "attention.self.query", "attention.self.key", "attention.self.value",
        "attention.output.dense", "intermediate.dense", "output.dense")  # fmt: skip


def random_layers(
    depth: int, width: int, heads: int, head_width: int, hidden: int | None, scale: float, seed: int
) -> list[LayerWeights]:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return scale * torch.randn(*shape, generator=generator) / shape[-2] ** 0.5

    return [
        LayerWeights(
            *(normal(heads, width, head_width) for _ in range(3)),
            normal(heads, head_width, width),
            *((normal(width, hidden), normal(hidden, width)) if hidden else ()),
        )
        for _ in range(depth)
    ]


@dataclass(frozen=True)
class Dense:
    """A whole matrix: all its singular values, and the sum of its columns' norms."""

    values: tuple[float, ...]
    columns: float

    @property
    def norm(self) -> float:
        return self.values[0]


NO_BLOCK = Dense((1.0,), 0.0)


def slow_factors(layers: list[LayerWeights], width: int, lipschitz: float) -> tuple[float, float]:
    """`(B_adaptive, B_norm)` by METHOD §10, every matrix formed and decomposed as a whole."""
    depth, steps = len(layers), math.ceil(len(layers) + math.log(width))
    models = [_dense_layer(layer) for layer in layers]
    stretches = [_stretch(*model, 1.0 if model[2] is NO_BLOCK else lipschitz) for model in models]
    b_adaptive, inner = math.sqrt(depth), 1.0
    for number, (qk, v, m_in, m_out) in enumerate(models):
        alpha = math.prod(stretches[number + 1 :])
        after = m_out.norm * m_in.norm
        matrices = [(qk[h], 2 * v[h].norm * after) for h in range(len(v))] + [(value, after) for value in v]
        xi = sum((after * v[h].norm * qk[h].columns) ** (2 / 3) for h in range(len(v)))
        xi += sum((after * value.columns) ** (2 / 3) for value in v)
        if m_in is not NO_BLOCK:
            matrices += [(m_in, m_out.norm), (m_out, 1.0)]
            xi += (m_out.norm * m_in.columns) ** (2 / 3) + m_out.columns ** (2 / 3)
        for matrix, gain in matrices:
            factor = gain * alpha * depth
            b_adaptive += min(_contribution(matrix, factor, width, j / steps) for j in range(2 * steps + 1))
        inner += alpha ** (2 / 3) * xi
    return b_adaptive, inner**1.5


def _dense_layer(layer: LayerWeights) -> tuple[list[Dense], list[Dense], Dense, Dense]:
    w_q, w_k, w_v, w_o, *block = (None if w is None else w.double().numpy() for w in layer)
    heads = range(len(w_q))
    qk, v = [_dense(w_q[h] @ w_k[h].T) for h in heads], [_dense(w_v[h] @ w_o[h]) for h in heads]
    m_in, m_out = (NO_BLOCK if matrix is None else _dense(matrix) for matrix in block)
    return qk, v, m_in, m_out


def _dense(matrix: np.ndarray) -> Dense:
    columns = sum(math.sqrt(sum(x * x for x in column)) for column in matrix.T.tolist())
    return Dense(tuple(np.linalg.svd(matrix, compute_uv=False).tolist()), columns)


def _stretch(qk: list[Dense], v: list[Dense], m_in: Dense, m_out: Dense, slope: float) -> float:
    attention = sum(v[h].norm * (1 + 4 * qk[h].norm) for h in range(len(v)))
    return slope * m_in.norm * m_out.norm * attention


def _contribution(matrix: Dense, factor: float, width: int, p: float) -> float:
    least = 1e-10 * len(matrix.values) * max(matrix.norm, 1.0)
    values = [value for value in matrix.values if value > least]
    if p == 0:
        return math.sqrt(len(values) * width)
    power_sum = sum(value**p for value in values)
    return power_sum ** (1 / (p + 2)) * factor ** (p / (p + 2)) * width ** ((p + 1) / (p + 2))


def bert_state(
    layers: list[LayerWeights], prefix: str, names: tuple[str, ...] = BERT
) -> dict[str, torch.Tensor]:
    """The layers as a checkpoint names them, with the tensors that `nn.Linear` would hold."""
    root, *parts = names
    state = {f"{prefix}embeddings.word_embeddings.weight": torch.zeros(3, WIDTH)}
    for number, layer in enumerate(layers):
        beside = [w.transpose(0, 1).reshape(WIDTH, WIDTH) for w in (layer.w_q, layer.w_k, layer.w_v)]
        below = layer.w_o.reshape(WIDTH, WIDTH)
        for part, matrix in zip(parts, [*beside, below, layer.m_in, layer.m_out], strict=True):
            state[f"{prefix}{root}{number}.{part}.weight"] = matrix.T.contiguous()
    return state


def write_checkpoint(
    folder: Path, state: dict[str, torch.Tensor], pickled: bool = False, **config: Any
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **SIZES, **config}))
    if pickled:
        torch.save(state, folder / "pytorch_model.bin")
    else:
        save_file(state, folder / "model.safetensors")
    return folder
