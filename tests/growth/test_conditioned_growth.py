"""Births and prunes of a conditioned model (METHOD §4, §9)."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.data.task import Batch
from incrt_cli.geometry.conditioning import Conditioning, condition_numbers
from incrt_cli.growth.birth import newborn_head, random_plane, unaligned_head
from incrt_cli.growth.controller import GrowthController
from incrt_cli.growth.operations import Losses
from incrt_cli.growth.surgery import add_head, remove_head
from incrt_cli.model.classifier import Architecture, Classifier

ALL = ("q", "k", "v")
METHODS = pytest.mark.parametrize("method", ["diagonal", "svd"])


def _model(method: str, heads: int = 3) -> tuple[Classifier, torch.optim.AdamW, torch.Tensor]:
    torch.manual_seed(0)
    conditioning = Conditioning(method, ALL, 10.0)
    model = Classifier(Architecture(40, 10, 3, 16, 4, 6, heads=(heads,), conditioning=conditioning))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2), torch.randint(1, 40, (8, 10))


def _add(model: Classifier, optimizer: torch.optim.Optimizer, aligned: bool = True) -> torch.Tensor:
    """Add a head; returns the plane it was meant for."""
    generator = torch.Generator().manual_seed(0)
    plane = random_plane(16, generator)
    head = (
        newborn_head(plane, 4, 6, 10.0, generator) if aligned else unaligned_head(16, 4, 6, 10.0, generator)
    )
    add_head(model.attention_layers[0].bank, optimizer, head)
    return plane


@METHODS
@pytest.mark.parametrize("aligned", [True, False])
def test_a_birth_leaves_the_function_and_the_others_corrections_as_they_were(
    method: str, aligned: bool
) -> None:
    model, optimizer, tokens = _model(method)
    bank = model.attention_layers[0].bank
    before, corrections = model(tokens, None).detach(), bank.correction.clone()
    _add(model, optimizer, aligned)
    torch.testing.assert_close(model(tokens, None).detach(), before, atol=1e-6, rtol=0)
    assert torch.equal(bank.correction[:3], corrections) and bank.correction.shape == (4, 14, 16)


@METHODS
def test_a_newborn_on_a_plane_keeps_its_motor_and_gets_a_correction_of_its_values(method: str) -> None:
    model, optimizer, _ = _model(method)
    u_plus, u_minus = _add(model, optimizer).float().unbind(dim=1)
    bank = model.attention_layers[0].bank
    form = (bank.w_q[3] @ bank.w_k[3].T / 4**0.5).detach()
    motor = (torch.outer(u_plus, u_minus) - torch.outer(u_minus, u_plus)) / 2**0.5
    torch.testing.assert_close(form, motor, atol=1e-6, rtol=0)
    queries, keys, values = (part[3] for part in bank.split(bank.correction))
    assert not queries.any() and not keys.any() and values.any()


def test_every_corrected_projection_of_a_newborn_is_bounded_by_two_under_svd() -> None:
    for aligned, corrected in ((True, "v"), (False, "qkv")):
        model, optimizer, _ = _model("svd")
        _add(model, optimizer, aligned)
        bank = model.attention_layers[0].bank
        for name, weights in zip(ALL, bank.split(bank.projection.detach()), strict=True):
            assert (name in corrected) == bool(condition_numbers(weights)[3] <= 2.0 + 1e-6)


@METHODS
def test_a_prune_keeps_the_others_corrections(method: str) -> None:
    model, optimizer, tokens = _model(method)
    bank = model.attention_layers[0].bank
    bank.correction[:] += torch.arange(3.0)[:, None, None]  # told apart, whatever the method
    corrections, outputs = bank.correction.clone(), bank.output_projection.data
    outputs[1].zero_()
    before = model(tokens, None).detach()
    remove_head(bank, optimizer, 1)
    assert torch.equal(bank.correction, corrections[[0, 2]])
    torch.testing.assert_close(model(tokens, None).detach(), before, atol=1e-6, rtol=0)


@METHODS
def test_a_grown_model_is_saved_with_its_corrections(method: str) -> None:
    model, optimizer, tokens = _model(method)
    _add(model, optimizer)
    again = Classifier(model.architecture)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(tokens, None), model(tokens, None))


@METHODS
def test_the_gate_measures_the_effective_motors_and_grows_as_predicted(method: str) -> None:
    model, optimizer, tokens = _model(method, heads=1)
    controller = GrowthController(model, optimizer, GateSection(tracker="exact"), seed=0)
    batch = Batch(tokens, None, torch.zeros(8, dtype=torch.long))
    (prediction,) = controller.calibrate([batch])
    bank = model.attention_layers[0].bank
    plain, _, _ = _model(method, heads=1)
    plain.attention_layers[0].bank.correction.zero_()
    bare = GrowthController(plain, optimizer, GateSection(tracker="exact"), seed=0).calibrate([batch])[0]
    assert prediction.gamma != pytest.approx(bare.gamma, rel=0.1)
    for step in range(1, 30):
        controller.check(step, Losses(0.0, lambda: 0.0))
    assert bank.heads == prediction.k_greedy and controller.certify()[0].sufficient
