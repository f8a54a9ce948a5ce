"""The matrices of our own models, live or from a run folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from torch import Tensor

from incrt_cli.complexity.weights import GELU, LayerWeights, ModelWeights
from incrt_cli.errors import UserError
from incrt_cli.model.classifier import Classifier
from incrt_cli.rundir import layout, read_model


def classifier_weights(model: Classifier) -> ModelWeights:
    """The matrices of a live model, on its device and without gradients."""
    shape = model.architecture
    layers = _layers(model.state_dict(), len(shape.heads), shape.head_width)
    return ModelWeights("the model", shape.width, GELU, layers)


def run_weights(run: Path) -> ModelWeights:
    """The matrices of a run folder's model; raises UserError, naming the file, when it is damaged."""
    state, architecture, _, _ = read_model(run)
    folder = run.absolute() / layout.MODEL_FOLDER
    try:
        width, head_width = int(architecture["width"]), int(architecture["head_width"])
        layers = list(_layers(state, len(architecture["heads"]), head_width))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{folder}: {layout.ARCHITECTURE} and {layout.WEIGHTS} hold no model of incrt: {error!r}"
        ) from error
    return ModelWeights(str(folder / layout.WEIGHTS), width, GELU, layers)


def _layers(state: Mapping[str, Tensor], depth: int, head_width: int) -> Iterator[LayerWeights]:
    for number in range(depth):
        inputs = state[f"layers.{number}.bank.input_projection"]
        correction = state.get(f"layers.{number}.bank.correction")  # where attention is conditioned
        effective = (inputs if correction is None else inputs + correction).mT  # K × d × (2 d_k + d_v)
        queries, keys, values = effective.tensor_split((head_width, 2 * head_width), dim=2)
        outputs = state[f"layers.{number}.bank.output_projection"]
        # nn.Linear holds its matrix transposed; 0 is the block's LayerNorm, or its place, and 2 its GELU.
        m_in, m_out = (state.get(f"layers.{number}.ffn.{part}.weight") for part in (1, 3))
        yield LayerWeights(
            queries,
            keys,
            values,
            outputs,
            None if m_in is None else m_in.T,
            None if m_out is None else m_out.T,
        )
