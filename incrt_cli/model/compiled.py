"""A layer through `torch.compile`, in training steps, while heads are born [ours].

One layer at a time: its function is pure, so observers stay outside, and one compilation serves every layer
of a model, those that come on top too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, cast

import torch
import torch._dynamo.config
from torch import Tensor
from torch._dynamo import maybe_mark_dynamic
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException
from torch._inductor.compile_fx import compile_fx
from torch._inductor.exc import CppCompileError, InvalidCxxCompiler

from incrt_cli.errors import UserError
from incrt_cli.model.classifier import Classifier
from incrt_cli.model.layer import Layer

_FAILURES = (TorchDynamoException, FailOnRecompileLimitHit, CppCompileError, InvalidCxxCompiler)
_SETTINGS: dict[str, Any] = {
    # A bank's parameters have as many rows as there are heads, which dynamo would take for a constant.
    "force_parameter_static_shapes": False,
    "force_nn_module_property_static_shapes": False,
    # What is marked varies and nothing else does, whatever was compiled in this process before.
    "automatic_dynamic_shapes": False,
    "suppress_errors": False,
}


class CompiledBlock:
    """`Layer.block` compiled for any number of heads, rows and tokens: once with a mask and once without, and
    anew where one of the three is 1, which the compiler takes for a constant. `compilations` so far.
    """

    def __init__(self) -> None:
        self.compilations = 0
        # Dynamo counts recompilations by code object: a copy keeps the runs of one process apart.
        own = FunctionType(Layer.block.__code__.replace(), Layer.block.__globals__)
        self._block = torch.compile(own, fullgraph=True, backend=self._compile)

    def install(self, model: Classifier) -> None:
        """Let every layer that `model` has or gets run its training steps through this."""
        for layer in model.attention_layers:
            layer.compiled = self

    def __call__(self, layer: Layer, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """`layer.block(x, mask)` to rounding, with draws of its own in dropout; for use in `explained`."""
        bank = layer.bank
        for tensor in (bank.input_projection, bank.output_projection, bank.correction):
            if tensor is not None:
                maybe_mark_dynamic(tensor, 0)
        for tensor in (x, mask):
            if tensor is not None:
                maybe_mark_dynamic(tensor, [0, 1])
        with torch._dynamo.config.patch(_SETTINGS):
            found: tuple[Tensor, Tensor] = self._block(layer, x, mask)
        if not self.compilations:
            raise UserError(
                "train.compile: torch.compile is switched off here (TORCHDYNAMO_DISABLE or "
                "TORCH_COMPILE_DISABLE is set): unset it, or take train.compile=false"
            )
        return found

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Around forward and backward pass, whose code is compiled when it is first needed.

        Raises UserError where there is no compiler, or it fails or has been asked for too many variants.
        """
        try:
            yield
        except _FAILURES as error:
            cause = getattr(error, "inner_exception", None) or error.__cause__ or error
            said = str(cause).strip().split("\n")[0]
            raise UserError(
                f"train.compile: torch.compile failed after {self.compilations} compilations "
                f"({type(cause).__name__}: {said}); train.compile=false trains without it, a resumed run too"
            ) from error

    def _compile(self, graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        made = cast(Callable[..., Any], compile_fx(graph, inputs))
        self.compilations += 1
        return made
