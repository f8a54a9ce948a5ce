"""What is handed on: one measured quantity with its spread and shape, and what a part of the bench found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from incrt_cli.bench.timing import Clock, Effort, Timing, clock_of
from incrt_cli.config.schema import Config

Shape = Mapping[str, int | float | str]


_QUICK = Effort(repetitions=3, least=2, seconds=0.2)


@dataclass(frozen=True)
class Context:
    """What every part reads. `given`: the user gave a config, so that its own gate alone is of interest.

    `cpu_time`: seconds that the process has computed are measured, not those that have passed.
    """

    config: Config
    device: torch.device
    given: bool
    quick: bool
    cpu_time: bool = False

    @property
    def clock(self) -> Clock:
        return clock_of(self.device, self.cpu_time)

    @property
    def effort(self) -> Effort:
        """For works of milliseconds: many rounds, so that those interrupted by other processes are few."""
        return _QUICK if self.quick else Effort(repetitions=100, least=7, seconds=3.0)

    @property
    def long_effort(self) -> Effort:
        """For works of a second or more."""
        return Effort(repetitions=2, least=2) if self.quick else Effort(5, least=3, seconds=30.0)

    @property
    def heads(self) -> int:
        """Of a model that stands for a grown one; the shipped tasks grew 14 to 24."""
        return max(self.config.model.heads, 4 if self.quick else 16)


@dataclass(frozen=True)
class Measurement:
    """Median and quartiles of `what` in `unit`; `ratio` is the median over that of `against`."""

    part: str
    what: str
    shape: Shape
    unit: str
    q1: float
    median: float
    q3: float
    repetitions: int
    ratio: float | None = None
    against: str | None = None


@dataclass
class Found:
    """`figures`: top-level keys of the JSON."""

    figures: dict[str, Any] = field(default_factory=dict)
    measurements: list[Measurement] = field(default_factory=list)


def seconds_of(
    part: str, timings: Mapping[str, Timing], shape: Shape, against: str | None = None
) -> list[Measurement]:
    """A measurement of each of `timings`, held against the one named `against`."""
    return [
        Measurement(
            part,
            what,
            shape,
            "s",
            *timing.quartiles,
            len(timing.seconds),
            None if against in (None, what) else timing.over(timings[str(against)]),
            None if against == what else against,
        )
        for what, timing in timings.items()
    ]


def rate_of(part: str, what: str, timing: Timing, amount: float, unit: str, shape: Shape) -> Measurement:
    """`amount` per second: the quickest rounds are the upper quartile."""
    low, middle, high = timing.quartiles
    rates = (amount / high, amount / middle, amount / low)
    return Measurement(part, what, shape, unit, *rates, len(timing.seconds))
