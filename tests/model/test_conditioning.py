"""A conditioned model: what is computed with, what is trained, and what is saved (METHOD §9)."""

from __future__ import annotations

import itertools
import json

import pytest
import torch
from safetensors.torch import load, save

from incrt_cli.complexity.classifier import classifier_weights
from incrt_cli.geometry.conditioning import Conditioning, condition_numbers
from incrt_cli.model.classifier import Architecture, Classifier, count_parameters

ALL = ("q", "k", "v")
TARGETS = [part for length in (1, 2, 3) for part in itertools.combinations(ALL, length)]


def _classifier(method: str | None, targets: tuple[str, ...] = ALL, seed: int = 0) -> Classifier:
    torch.manual_seed(seed)
    conditioning = None if method is None else Conditioning(method, targets, 10.0)
    shape = Architecture(50, 12, 3, 16, head_width=4, value_width=6, heads=(3, 2), conditioning=conditioning)
    return Classifier(shape).eval()


def _tokens() -> torch.Tensor:
    return torch.randint(1, 50, (4, 9), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("targets", TARGETS)
def test_svd_bounds_every_corrected_projection_by_two_and_leaves_the_others(targets: tuple[str, ...]) -> None:
    for layer in _classifier("svd", targets).attention_layers:
        bare = layer.bank.split(layer.bank.input_projection.detach())
        effective = layer.bank.split(layer.bank.projection.detach())
        for name, before, after in zip(ALL, bare, effective, strict=True):
            if name in targets:
                assert bool((condition_numbers(after) <= 2.0 + 1e-6).all())
                assert bool((condition_numbers(before) > condition_numbers(after)).all())
            else:
                assert torch.equal(before, after)


@pytest.mark.parametrize("method", ["diagonal", "svd"])
def test_no_parameter_is_added_and_initial_weights_are_those_without(method: str) -> None:
    plain, conditioned = _classifier(None), _classifier(method)
    assert count_parameters(plain) == count_parameters(conditioned)
    pairs = zip(plain.named_parameters(), conditioned.named_parameters(), strict=True)
    assert all(name == other and torch.equal(p, q) for (name, p), (other, q) in pairs)


@pytest.mark.parametrize("method", ["diagonal", "svd"])
def test_the_model_computes_as_one_whose_weights_are_the_effective_ones(method: str) -> None:
    plain, conditioned = _classifier(None), _classifier(method)
    assert not torch.allclose(conditioned(_tokens(), None), plain(_tokens(), None), atol=1e-3)
    for layer, source in zip(plain.attention_layers, conditioned.attention_layers, strict=True):
        layer.bank.input_projection.data = source.bank.projection.detach().clone()
        assert torch.equal(source.bank.w_q, layer.bank.w_q) and torch.equal(source.bank.w_k, layer.bank.w_k)
    torch.testing.assert_close(conditioned(_tokens(), None), plain(_tokens(), None))
    pairs = zip(classifier_weights(conditioned).layers, classifier_weights(plain).layers, strict=True)
    for ours, theirs in pairs:
        assert all(torch.equal(a, b) for a, b in zip(ours[:4], theirs[:4], strict=True))


def test_the_correction_stays_where_training_moves_the_weights() -> None:
    model = _classifier("svd")
    bank = model.attention_layers[0].bank
    fixed, weights = bank.correction.clone(), bank.input_projection.detach().clone()
    model(_tokens(), None).square().sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert torch.equal(bank.correction, fixed) and not bank.correction.requires_grad
    assert not torch.equal(bank.input_projection, weights)


@pytest.mark.parametrize("method", [None, "diagonal", "svd"])
def test_a_saved_model_computes_the_same_when_it_is_loaded(method: str | None) -> None:
    model, other = _classifier(method), _classifier(method, seed=1)
    assert not torch.equal(other(_tokens(), None), model(_tokens(), None))
    other.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(other(_tokens(), None), model(_tokens(), None))
    assert any("correction" in name for name in model.state_dict()) == (method is not None)


def test_the_correction_moves_with_the_model() -> None:
    bank = _classifier("svd").to("meta").double().attention_layers[0].bank
    assert (bank.correction.device.type, bank.correction.dtype) == ("meta", torch.float64)


def test_the_architecture_says_how_attention_is_conditioned() -> None:
    written = json.loads(json.dumps(_classifier("svd", ("q",)).architecture.to_json()))
    assert written["conditioning"] == {"method": "svd", "targets": ["q"], "strength": 10.0}
    assert _classifier(None).architecture.to_json()["conditioning"] is None
