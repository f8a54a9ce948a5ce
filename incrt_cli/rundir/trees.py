"""Nested state to tensors and JSON, and back bit for bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_TENSOR, _STRIDES, _FLOAT = "$tensor", "strides", "$float"


def split_tree(tree: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """`tree` (dicts with string keys, lists, tensors, numbers, text, None) as JSON and its tensors by path.

    Raises TypeError for anything else, which is a mistake in the program.
    """
    tensors: dict[str, torch.Tensor] = {}
    return {key: _split(value, key, tensors) for key, value in tree.items()}, tensors


def join_tree(plain: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """What `split_tree` took apart; tensors on the CPU. Raises KeyError for one that is missing."""
    return {key: _join(value, tensors) for key, value in plain.items()}


def _split(value: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        copy = value.detach().cpu()
        tensors[path] = copy.clone(memory_format=torch.contiguous_format)
        # Matrix products read a transposed matrix by other kernels, which round differently.
        return {_TENSOR: path, _STRIDES: list(copy.stride())}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{path} has keys that are no text")
        return {key: _split(item, f"{path}/{key}", tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_split(item, f"{path}/{number}", tensors) for number, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}  # JSON has no such numbers
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"cannot keep a {type(value).__name__} at {path}")


def _join(value: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    import torch

    if isinstance(value, list):
        return [_join(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR in value:
        # A copy in memory of its own: what the file's bytes hold is aligned as it happens to be.
        saved = tensors[value[_TENSOR]]
        return torch.empty_strided(saved.shape, value[_STRIDES], dtype=saved.dtype).copy_(saved)
    if _FLOAT in value:
        return float(value[_FLOAT])
    return {key: _join(item, tensors) for key, item in value.items()}
