"""When the newest head has learnt what it will, whatever the scale of time and loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from incrt_cli.growth.progress import Progress

NOISE = 0.01 * torch.randn(200, generator=torch.Generator().manual_seed(0))


def _ended_at(
    curve: Callable[[float], float], every: int, horizon: int = 4000, settle: int = 100
) -> int | None:
    """The first look, `every` steps apart, at which progress on a loss `curve` has ended."""
    progress = Progress(settle, share=0.2, critical_t=3.5)
    generator = torch.Generator().manual_seed(1)
    for step in range(0, horizon, every):
        losses = curve(step) + NOISE + 0.01 * torch.randn(200, generator=generator)
        progress.add(step, losses)
        if progress.ended():
            return step
    return None


@pytest.mark.parametrize("every", [25, 50, 100])
@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_a_head_with_a_time_constant_gets_three_to_four_of_them(every: int, scale: float) -> None:
    ended = _ended_at(lambda step: scale * math.exp(-step / 200), every)
    assert ended is not None and 500 <= ended <= 800


def test_a_head_that_never_learns_gets_its_time_to_settle() -> None:
    assert _ended_at(lambda step: 1.0, every=50, settle=300) == 300


def test_a_loss_that_keeps_falling_never_ends() -> None:
    assert _ended_at(lambda step: 4.0 - step / 1000, every=50) is None


def test_a_loss_that_rises_again_has_ended() -> None:
    assert _ended_at(lambda step: abs(step - 200) / 200, every=50) == 250


def test_a_birth_begins_a_new_life() -> None:
    progress = Progress(100, share=0.2, critical_t=3.5)
    progress.add(0, NOISE)
    progress.add(500, NOISE)
    assert progress.ended()
    progress.begin(500, NOISE)
    progress.add(550, NOISE)
    assert not progress.ended()
