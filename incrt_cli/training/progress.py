"""How training reports while it runs; the command line decides what that looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Status:
    """Where training stands; `ratio` is λ_max/θ_w at the last look, the largest over layers."""

    step: int
    total_steps: int
    epoch: float
    loss: float
    heads: int
    ratio: float | None
    accuracy: float | None  # at the last evaluation
    split: str  # of that evaluation


class Reporter(Protocol):
    def say(self, text: str) -> None:
        """A line for the user."""

    def step(self, status: Status) -> None:
        """After every step."""

    def evaluated(self, status: Status) -> None:
        """After every evaluation, the one before the first step included."""


class Silent:
    """A reporter that reports nothing."""

    def say(self, text: str) -> None:
        pass

    def step(self, status: Status) -> None:
        pass

    def evaluated(self, status: Status) -> None:
        pass
