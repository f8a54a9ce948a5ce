"""The trained model in a run folder: weights, and all that is needed to use them on new input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrt_cli.errors import UserError
from incrt_cli.rundir import layout
from incrt_cli.rundir.atomic import write_atomic
from incrt_cli.rundir.plain import to_json

if TYPE_CHECKING:
    import torch

    State = dict[str, torch.Tensor]


def write_model_files(
    run: Path,
    state: State,
    architecture: Mapping[str, Any],
    labels: Sequence[str],
    vocabulary: Mapping[str, Any],
) -> None:
    """Write `model/` of the run folder; the tensors keep their dtype and come from any device.

    Raises UserError when the folder cannot be written.
    """
    import torch
    from safetensors.torch import save

    folder = run / layout.MODEL_FOLDER
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {folder.absolute()}: {error.strerror}") from error
    # Copies: the format refuses views of a shared storage, and a head bank may be made of them.
    copies = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in state.items()
    }
    write_atomic(folder / layout.LABELS, to_json(list(labels)))
    write_atomic(folder / layout.VOCABULARY, to_json(vocabulary))
    write_atomic(folder / layout.ARCHITECTURE, to_json(architecture))
    write_atomic(folder / layout.WEIGHTS, save(copies))


def read_model(path: Path) -> tuple[State, dict[str, Any], list[str], dict[str, Any]]:
    """`(state, architecture, labels, vocabulary)` of the run folder `path`, tensors on the CPU.

    Raises UserError, naming the absolute path, for a file that is absent or damaged.
    """
    folder = path.absolute() / layout.MODEL_FOLDER
    architecture = _read_json(folder / layout.ARCHITECTURE, dict)
    labels = _read_json(folder / layout.LABELS, list)
    vocabulary = _read_json(folder / layout.VOCABULARY, dict)
    return _read_weights(folder / layout.WEIGHTS), architecture, labels, vocabulary


def _read_weights(path: Path) -> State:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (SafetensorError, ValueError, KeyError) as error:
        raise _unreadable(path, f"damaged ({error})") from error


def _read_json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"damaged ({error})") from error
    if not isinstance(value, kind):
        raise _unreadable(path, f"holds a {type(value).__name__} where a {kind.__name__} belongs")
    return value


def _unreadable(path: Path, reason: str) -> UserError:
    return UserError(f"cannot read the model file {path}: {reason}; is this the folder of a finished run?")
