"""When the newest head has learnt what it will, whatever the scale of the loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from incrt_cli.growth.progress import Progress, interval

NOISE = 0.01 * torch.randn(200, generator=torch.Generator().manual_seed(0))


def _ended_at(curve: Callable[[float], float], settle: int = 100, horizon: int = 2000) -> int | None:
    """The first decision at which progress on a loss `curve` has ended, rows differing from each other."""
    progress = Progress(settle, share=0.2, critical_t=2.5)
    for step in range(0, horizon, interval(settle)):
        progress.add(step, curve(step) * (1.0 + NOISE))
        if progress.ended():
            return step
    return None


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_pace_is_a_share_of_the_loss_whatever_its_scale(scale: float) -> None:
    # 0.335 after 300 steps and 0.395 after 200: 15 % less; 50 steps before these it was 22 %
    assert _ended_at(lambda step: scale * (0.3 + 0.7 * math.exp(-step / 100))) == 300


@pytest.mark.parametrize("settle", [1, 24, 100, 300])
def test_a_head_that_never_learns_gets_its_time_to_settle(settle: int) -> None:
    assert _ended_at(lambda step: 1.0, settle) == settle


def test_a_loss_that_keeps_its_pace_never_ends() -> None:
    assert _ended_at(lambda step: math.exp(-step / 300)) is None


def test_a_loss_that_rises_again_has_ended() -> None:
    assert _ended_at(lambda step: 0.1 + abs(step - 300) / 300) == 350


def test_a_birth_begins_a_new_life() -> None:
    progress = Progress(100, share=0.2, critical_t=2.5)
    progress.add(0, 1.0 + NOISE)
    progress.add(500, 1.0 + NOISE)
    assert progress.ended() and progress.life == 500
    progress.begin(500, 1.0 + NOISE)
    progress.add(550, 1.0 + NOISE)
    assert not progress.ended() and progress.life == 50


@pytest.mark.parametrize(("gain", "learnt"), [(0.0, False), (-0.1, False), (0.1, True)])
def test_a_head_has_learnt_when_reserved_rows_have_lost_loss(gain: float, learnt: bool) -> None:
    progress = Progress(100, share=0.2, critical_t=2.5)
    progress.begin(0, 1.0 + NOISE)
    progress.add(100, 1.0 - gain + NOISE.roll(1))
    assert progress.learnt() is learnt
