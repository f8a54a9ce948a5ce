"""The weights file of a checkpoint folder, its tensors read one at a time."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from incrt_cli.errors import UserError

SAFETENSORS, PICKLE = "model.safetensors", "pytorch_model.bin"


@dataclass(frozen=True)
class TensorFile:
    """An open weights file: the `names` it holds, and `get` to read one of them."""

    path: Path
    names: frozenset[str]
    get: Callable[[str], Tensor]

    def prefix_of(self, suffix: str) -> str:
        """What stands before `suffix` in the one name that ends so: "", "bert." or another.

        Raises UserError where no name or several do.
        """
        whole = [name for name in self.names if name == suffix or name.endswith(f".{suffix}")]
        if len(whole) != 1:
            found = "no tensor ends" if not whole else f"{len(whole)} tensors end"
            raise UserError(
                f"{self.path}: {found} in {suffix!r}; is it the encoder that config.json describes?"
            )
        return whole[0].removesuffix(suffix)

    def matrix(self, name: str, shape: tuple[int | None, int | None]) -> Tensor:
        """The matrix `name`; raises UserError unless it is floating point of `shape` (None: any)."""
        if name not in self.names:
            raise UserError(f"{self.path}: the tensor {name!r} is missing")
        tensor = self.get(name)
        fits = tensor.ndim == 2 and all(
            want in (None, have) for want, have in zip(shape, tensor.shape, strict=True)
        )
        if not fits or not tensor.is_floating_point():
            expected = " × ".join("any" if size is None else str(size) for size in shape)
            raise UserError(
                f"{self.path}: {name} is {tensor.dtype} of shape {tuple(tensor.shape)}; by config.json it is "
                f"floating point, {expected}"
            )
        return tensor


def open_tensors(folder: Path) -> TensorFile:
    """The weights of `folder`; raises UserError, naming what is missing or damaged."""
    if (folder / SAFETENSORS).is_file():
        return _open_safetensors(folder / SAFETENSORS)
    if (folder / PICKLE).is_file():
        return _open_pickle(folder / PICKLE)
    sharded = sorted(path.name for path in folder.glob("*.index.json"))
    more = f"; weights in several files ({sharded[0]}) are not read" if sharded else ""
    raise UserError(f"{folder}: holds neither {SAFETENSORS} nor {PICKLE}{more}")


def _open_safetensors(path: Path) -> TensorFile:
    from safetensors import SafetensorError, safe_open

    try:
        handle: Any = safe_open(path, framework="pt")
        return TensorFile(path, frozenset(handle.keys()), handle.get_tensor)
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path}: not readable as safetensors: {error}") from error


def _open_pickle(path: Path) -> TensorFile:
    try:
        # Only the newer, zipped format can be mapped instead of read as a whole.
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # a damaged pickle fails in whatever its instructions happen to say
        reason = str(error).strip().split("\n")[0]
        raise UserError(
            f"{path}: not readable as weights alone ({reason}); code in a checkpoint is never run"
        ) from error
    tensors = state if isinstance(state, dict) else {}
    named = {name: value for name, value in tensors.items() if isinstance(value, Tensor)}
    return TensorFile(path, frozenset(map(str, named)), named.__getitem__)
