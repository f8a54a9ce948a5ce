"""The matrices of a Hugging Face checkpoint folder: BERT, and the families that are built like it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from incrt_cli.complexity.tensors import TensorFile, open_tensors
from incrt_cli.complexity.weights import LIPSCHITZ, LayerWeights, ModelWeights
from incrt_cli.errors import UserError

CONFIG = "config.json"


@dataclass(frozen=True)
class _Family:
    """How a family names its sizes (width, layers, heads, activation) and the matrices of a layer."""

    sizes: tuple[str, str, str]
    activation: str
    root: str  # followed by the number of the layer
    query: str
    key: str
    value: str
    output: str
    m_in: str
    m_out: str


_BERT = _Family(
    sizes=("hidden_size", "num_hidden_layers", "num_attention_heads"),
    activation="hidden_act",
    root="encoder.layer.",
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    output="attention.output.dense",
    m_in="intermediate.dense",
    m_out="output.dense",
)
_DISTILBERT = _Family(
    sizes=("dim", "n_layers", "n_heads"),
    activation="activation",
    root="transformer.layer.",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    output="attention.out_lin",
    m_in="ffn.lin1",
    m_out="ffn.lin2",
)
FAMILIES = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra"), _BERT),
    "distilbert": _DISTILBERT,
}


def checkpoint_weights(folder: Path) -> ModelWeights:
    """The matrices of a checkpoint folder, read one layer at a time.

    Raises UserError, naming the file and what is missing, for a folder or an architecture that cannot be
    used.
    """
    path = folder.absolute() / CONFIG
    config = _read_config(path)
    family = _family(path, config)
    width, depth, heads = (_size(path, config, key) for key in family.sizes)
    if width % heads:
        raise UserError(f"{path}: {family.sizes[0]} = {width} does not divide into {heads} heads")
    tensors = open_tensors(folder.absolute())
    layers = _layers(tensors, family, width, depth, heads)
    return ModelWeights(str(tensors.path), width, _lipschitz(path, config, family), layers)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: holds no JSON object; expected the config of a Hugging Face checkpoint")
    return config


def _family(path: Path, config: dict[str, Any]) -> _Family:
    name = config.get("model_type")
    if not isinstance(name, str) or name not in FAMILIES:
        found = "no model_type" if name is None else f"model_type {name!r}"
        raise UserError(f"{path}: {found}; the architectures that can be read are {', '.join(FAMILIES)}")
    return FAMILIES[name]


def _size(path: Path, config: dict[str, Any], key: str) -> int:
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UserError(f"{path}: {key} is {value!r}; expected a whole number above 0")
    return value


def _lipschitz(path: Path, config: dict[str, Any], family: _Family) -> float:
    name = config.get(family.activation, "gelu")  # what every family here defaults to
    if not isinstance(name, str) or name not in LIPSCHITZ:
        raise UserError(f"{path}: {family.activation} is {name!r}; known activations: {', '.join(LIPSCHITZ)}")
    return LIPSCHITZ[name]


def _layers(
    tensors: TensorFile, family: _Family, width: int, depth: int, heads: int
) -> Iterator[LayerWeights]:
    prefix = tensors.prefix_of(f"{family.root}0.{family.query}.weight")

    def matrix(number: int, name: str, shape: tuple[int | None, int | None]) -> Tensor:
        # nn.Linear holds its matrix transposed.
        return tensors.matrix(f"{prefix}{family.root}{number}.{name}.weight", shape).T

    def per_head(number: int, name: str) -> Tensor:
        return matrix(number, name, (width, width)).reshape(width, heads, -1).transpose(0, 1)

    for number in range(depth):
        yield LayerWeights(
            per_head(number, family.query),
            per_head(number, family.key),
            per_head(number, family.value),
            matrix(number, family.output, (width, width)).reshape(heads, -1, width),
            matrix(number, family.m_in, (None, width)),
            matrix(number, family.m_out, (width, None)),
        )
