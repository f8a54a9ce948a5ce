"""What the machine can do: the rate of a large matrix product, and how many operations a step takes.

forward, a layer:  2 T d K (2 d_k + 2 d_v) + 2 B n² K (d_k + d_v) + 4 T d d_ffn,   T = B n
training step:     three times the forward pass of all layers
"""

from __future__ import annotations

import numpy as np
import torch

from incrt_cli.bench.measurement import Context, Measurement, Shape, rate_of
from incrt_cli.bench.timing import side_by_side
from incrt_cli.config.schema import ModelSection

_SIZE, _QUICK_SIZE, _CUDA_SIZE = 1024, 128, 8192
_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def machine_rate(context: Context) -> list[Measurement]:
    """TFLOP/s of square products, first in the precision of the config; on CUDA in both precisions."""
    own = context.config.train.precision
    names = list(dict.fromkeys([own, *_TYPES])) if context.device.type == "cuda" else [own]
    size = _CUDA_SIZE if context.device.type == "cuda" else _SIZE
    size = _QUICK_SIZE if context.quick else size
    measured = []
    for name in names:
        a, b = torch.randn(2, size, size, device=context.device).to(_TYPES[name])
        timing = side_by_side({name: lambda a=a, b=b: a @ b}, context.effort, context.clock)[name]  # type: ignore[misc]
        shape: Shape = {"size": size, "type": name}
        measured.append(rate_of("step", "matrix product", timing, 2 * size**3 / 1e12, "TFLOP/s", shape))
    return measured


def step_operations(model: ModelSection, lengths: np.ndarray) -> float:
    """Floating-point operations of one training step on rows of `lengths`, padded to the longest.

    Those of attention and feed-forward; embedding, norms and read-out are left out.
    """
    batch, longest = len(lengths), int(lengths.max())
    tokens = batch * longest
    projections = 2 * tokens * model.width * model.heads * 2 * (model.head_width + model.value_width)
    attention = 2 * batch * longest**2 * model.heads * (model.head_width + model.value_width)
    feed_forward = 4 * tokens * model.width * round(model.width * model.ffn_multiplier)
    return 3.0 * model.layers * (projections + attention + feed_forward)
