"""Averaged weights: steadier than the model's own, and only lent."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from incrt_cli.growth.average import WeightAverage


def _swing(average: WeightAverage, weights: nn.Parameter, steps: int) -> None:
    for step in range(steps):
        weights.data.fill_(3.0 + (-1.0) ** step)  # 4, 2, 4, 2, …
        average.update()


def test_what_swings_about_a_value_averages_to_it() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon=10)
    _swing(average, model.weight, 100)
    with average.applied():
        assert torch.allclose(model.weight, torch.full((3, 2), 3.0), atol=0.1)
    assert bool((model.weight == 2.0).all())


def test_the_weights_come_back_from_a_failure_too() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon=10)
    _swing(average, model.weight, 3)
    with pytest.raises(RuntimeError), average.applied():
        raise RuntimeError
    assert bool((model.weight == 4.0).all())


def test_before_the_first_step_the_average_is_the_model() -> None:
    model = nn.Linear(2, 3)
    own = model.weight.detach().clone()
    with WeightAverage(model, horizon=10).applied():
        assert torch.equal(model.weight, own)


def test_a_newborn_counts_from_its_birth_and_its_elders_go_on() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon=10)
    _swing(average, model.weight, 100)
    elders = model.weight.detach()
    model.weight = nn.Parameter(torch.cat([elders, torch.full((1, 2), 7.0)]))
    with average.applied():
        assert torch.allclose(model.weight[:3], torch.full((3, 2), 3.0), atol=0.1)
        assert bool((model.weight[3] == 7.0).all())
    average.update()
    assert model.weight.shape == (4, 2)
