"""What is timed as an event is one: heads come and go, and every round begins as the one before."""

from __future__ import annotations

import torch

from incrt_cli.bench.stage import Stage
from tests.bench.small import small


def heads(stage: Stage) -> int:
    return stage._site.layer.bank.heads


def test_births_and_prunes_change_the_model_and_a_reset_undoes_them() -> None:
    context = small()
    stage = Stage(context)
    stage.reset()
    before = {name: tensor.clone() for name, tensor in stage._site.layer.state_dict().items()}
    assert heads(stage) == context.heads
    stage.birth()
    stage.birth()
    assert heads(stage) == context.heads + 2
    planes = [plane.plane for plane in stage._planes]
    assert torch.allclose(planes[0].T @ planes[1], torch.zeros(2, 2, dtype=torch.float64), atol=1e-10)
    stage.prune()
    assert heads(stage) == context.heads + 1
    stage.step()
    assert not torch.equal(stage._site.layer.norm.weight, before["norm.weight"])
    stage.reset()
    after = stage._site.layer.state_dict()
    assert heads(stage) == context.heads and all(torch.equal(after[name], before[name]) for name in before)


def test_the_optimiser_goes_along_with_births() -> None:
    stage = Stage(small())
    stage.reset()
    stage.birth()
    optimizer = stage._optimizer
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert held == {id(parameter) for parameter in stage._model.parameters()}
    assert all(parameter in optimizer.state for parameter in stage._model.parameters())


def test_looks_change_no_weight() -> None:
    stage = Stage(small())
    stage.reset()
    before = [parameter.clone() for parameter in stage._model.parameters()]
    stage.exact_look()
    stage.tracker_look()
    stage.tracker_step()
    after = stage._model.parameters()
    assert all(torch.equal(old, new) for old, new in zip(before, after, strict=True))
