"""The learning rate as a pure function of the step, so that growth cannot disturb it."""

from __future__ import annotations

import itertools
import math

from incrt_cli.config.schema import TrainSection


def learning_rate(
    step: int, total: int, peak: float, warmup_fraction: float, decay_fraction: float = 1.0
) -> float:
    """Rate at `step` (0 … total − 1): linear warm-up to `peak`, held there, then a cosine to zero.

    The cosine takes the last `decay_fraction` of the steps, or all after the warm-up if those are fewer.
    """
    warmup = round(total * warmup_fraction)
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    held = max(warmup, total - round(total * decay_fraction))
    progress = max(0, step - held) / max(1, total - held)
    return peak * 0.5 * (1.0 + math.cos(math.pi * progress))


def rate_shares(total: int, warmup_fraction: float, decay_fraction: float = 1.0) -> list[float]:
    """How much of the learning rate of all `total` steps is spent before step 0, 1, … total: 0 to 1."""
    rates = (learning_rate(step, total, 1.0, warmup_fraction, decay_fraction) for step in range(total))
    spent = list(itertools.accumulate(rates, initial=0.0))
    return [value / spent[-1] for value in spent] if total else [1.0]


class Schedule:
    """The learning rate of a run of `total` steps by `settings`."""

    def __init__(self, settings: TrainSection, total: int) -> None:
        self._settings, self._total = settings, total
        self._shares = rate_shares(total, settings.warmup_fraction, settings.decay_fraction)

    def rate(self, step: int) -> float:
        settings = self._settings
        if settings.frozen:
            return 0.0  # AdamW then leaves every weight as it is, weight decay included
        return learning_rate(
            step, self._total, settings.learning_rate, settings.warmup_fraction, settings.decay_fraction
        )

    def spent(self, step: int) -> float:
        """How much of the learning rate of all steps is spent before `step`: 0 to 1."""
        return self._shares[step]
