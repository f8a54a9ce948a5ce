"""Averaged weights: steadier than the model's own, and only lent."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from incrt_cli.growth.average import WeightAverage


def _swing(average: WeightAverage, weights: nn.Parameter, steps: int) -> None:
    for step in range(steps):
        weights.data.fill_((4.0, 4.0, 2.0)[step % 3])  # on average 10/3
        average.update(steps - 1 - step)  # the look is at the last of them


def _mean(average: WeightAverage, weights: nn.Parameter) -> float:
    with average.applied():
        return float(weights.detach().flatten()[0])


def test_what_swings_about_a_value_averages_to_it() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon=50)
    _swing(average, model.weight, 600)
    assert _mean(average, model.weight) == pytest.approx(10 / 3, abs=0.3)
    assert bool((model.weight == 2.0).all())


@pytest.mark.parametrize("horizon", [1, 4, 25, 60])
def test_the_horizon_is_one_of_steps_however_few_of_them_are_read(horizon: int) -> None:
    """A jump `horizon` steps before a look has come through to the share (1 − e/h)^(h/e) ≈ 1/e."""
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon)
    model.weight.data.fill_(0.0)
    average.update(2 * horizon)
    every = max(1, horizon // 5)
    model.weight.data.fill_(1.0)
    for left in range(horizon // every * every - 1, -1, -1):
        average.update(left)
    assert 1.0 - _mean(average, model.weight) == pytest.approx(
        (1 - every / horizon) ** (horizon // every), abs=1e-5
    )


def test_far_from_a_look_it_rests_and_then_begins_anew() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon=10)
    model.weight.data.fill_(5.0)
    for left in range(100, 20, -1):
        average.update(left)
    assert _mean(average, model.weight) != 5.0
    average.update(20)
    assert _mean(average, model.weight) == 5.0


def test_the_weights_come_back_from_a_failure_too() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon=10)
    _swing(average, model.weight, 3)
    with pytest.raises(RuntimeError), average.applied():
        raise RuntimeError
    assert bool((model.weight == 2.0).all())


def test_before_the_first_step_the_average_is_the_model() -> None:
    model = nn.Linear(2, 3)
    own = model.weight.detach().clone()
    with WeightAverage(model, horizon=10).applied():
        assert torch.equal(model.weight, own)


def test_a_newborn_counts_from_its_birth_and_its_elders_go_on() -> None:
    model = nn.Linear(2, 3)
    average = WeightAverage(model, horizon=10)
    _swing(average, model.weight, 100)
    elders, mean = model.weight.detach(), _mean(average, model.weight)
    model.weight = nn.Parameter(torch.cat([elders, torch.full((1, 2), 7.0)]))
    with average.applied():
        assert bool((model.weight[:3] == mean).all()) and mean != float(elders[0, 0])
        assert bool((model.weight[3] == 7.0).all())
    average.update(0)
    assert model.weight.shape == (4, 2)
