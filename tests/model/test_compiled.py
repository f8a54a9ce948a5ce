"""A compiled layer is the layer, whatever has grown, and what cannot be compiled is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch._dynamo.config
from torch import Tensor
from torch._inductor.exc import InvalidCxxCompiler

from incrt_cli.errors import UserError
from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.growth.surgery import add_head, remove_head
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.model.compiled import CompiledBlock
from incrt_cli.model.head_bank import HeadWeights

# torch looks, and keeps its own warning quiet where warnings are not errors.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"
)
WIDTH, HEAD = 16, 4
Backend = Callable[[torch.fx.GraphModule, list[Tensor]], Callable[..., Any]]


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Dynamo alone, which decides how often is compiled: its graphs are run as they are."""
    monkeypatch.setattr("incrt_cli.model.compiled.compile_fx", lambda graph, inputs: graph.forward)
    yield


def _model(**shape: Any) -> Classifier:
    torch.manual_seed(0)
    return Classifier(Architecture(50, 40, 3, WIDTH, HEAD, HEAD, (1,), **shape))


def _twins(**shape: Any) -> tuple[Classifier, Classifier, CompiledBlock]:
    """A compiled model and the same one that is not."""
    compiled, plain, block = _model(**shape), _model(**shape), CompiledBlock()
    block.install(compiled)
    return compiled, plain, block


def _batch(rows: int, length: int, masked: bool) -> tuple[Tensor, Tensor | None]:
    tokens = torch.randint(2, 50, (rows, length))
    if not masked:
        return tokens, None
    mask = torch.arange(length) < torch.randint(1, length + 1, (rows, 1))
    return tokens * mask, mask


def _assert_same(compiled: Classifier, plain: Classifier, batch: tuple[Tensor, Tensor | None]) -> None:
    outputs = [model(*batch) for model in (compiled, plain)]
    torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-5)
    grads = [
        torch.autograd.grad(output.square().sum(), list(model.parameters()))
        for output, model in zip(outputs, (compiled, plain), strict=True)
    ]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def _grow(*models: Classifier) -> None:
    new = HeadWeights(*(torch.randn(WIDTH, HEAD) for _ in range(3)), torch.randn(HEAD, WIDTH))
    for model in models:
        add_head(model.attention_layers[0].bank, torch.optim.AdamW(model.parameters()), new)


def _shapes() -> Iterator[tuple[int, int, bool]]:
    for masked in (True, False):
        yield from [(16, 16, masked), (16, 9, masked), (5, 7, masked)]


def _grows_and_shrinks(compiled: Classifier, plain: Classifier, heads: int) -> None:
    """From one head to `heads`, a layer on top, and back to two heads, with every kind of batch."""
    for _ in range(heads):
        for shape in _shapes():
            _assert_same(compiled, plain, _batch(*shape))
        _grow(compiled, plain)
    for model in (compiled, plain):
        model.append_layer(seed=1)
    while compiled.head_counts[0] > 2:
        for model in (compiled, plain):
            remove_head(model.attention_layers[0].bank, torch.optim.AdamW(model.parameters()), 0)
        _assert_same(compiled, plain, _batch(16, 11, True))


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize(
    "shape",
    [{}, {"ffn_multiplier": 2.0}, {"conditioning": Conditioning("svd", ("q", "v"), 10.0)}],
    ids=["plain", "ffn", "conditioned"],
)
def test_heads_rows_tokens_and_layers_share_four_variants(shape: dict[str, Any]) -> None:
    """With a mask and without, at one head and at any other number."""
    compiled, plain, block = _twins(**shape)
    _grows_and_shrinks(compiled, plain, heads=20 if not shape else 3)
    assert block.compilations == 4


@pytest.mark.slow
def test_the_compiler_asks_for_no_further_variant() -> None:
    compiled, plain, block = _twins()
    _grows_and_shrinks(compiled, plain, heads=6)
    assert block.compilations == 4


@pytest.mark.usefixtures("traced")
def test_only_training_steps_are_compiled() -> None:
    model, plain, block = _twins()
    batch = _batch(4, 6, True)
    with torch.no_grad():
        model(*batch)  # a calibration
    model.eval()
    model(*batch)  # an evaluation, or the probe
    assert block.compilations == 0
    model.train()
    seen: list[Tensor] = []
    for each in (model, plain):
        each.attention_layers[0].observer = lambda z, mask: seen.append(z)
        each(*batch)
    assert block.compilations == 1
    torch.testing.assert_close(*seen)


def test_a_compiler_that_is_absent_ends_it_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        raise InvalidCxxCompiler

    monkeypatch.setattr("incrt_cli.model.compiled.compile_fx", absent)
    model, _, block = _twins()
    with (
        pytest.raises(UserError, match=r"No working C\+\+ compiler.*train\.compile=false"),
        block.explained(),
    ):
        model(*_batch(4, 6, True))


@pytest.mark.usefixtures("traced")
def test_more_variants_than_allowed_are_no_silent_way_back() -> None:
    model, _, block = _twins()
    with (
        torch._dynamo.config.patch(recompile_limit=1),
        pytest.raises(UserError, match=r"recompile limit.*train\.compile=false"),
        block.explained(),
    ):
        for masked in (True, False):
            model(*_batch(4, 6, masked))
    assert block.compilations == 1


@pytest.mark.usefixtures("traced")
def test_compilation_that_is_switched_off_is_said() -> None:
    model, _, _ = _twins()
    with torch.compiler.set_stance("force_eager"), pytest.raises(UserError, match="switched off here"):
        model(*_batch(4, 6, True))


@pytest.mark.usefixtures("traced")
def test_the_models_of_a_process_have_variants_of_their_own() -> None:
    for _ in range(2):
        compiled, plain, block = _twins()
        _assert_same(compiled, plain, _batch(5, 7, True))
        assert block.compilations == 1
