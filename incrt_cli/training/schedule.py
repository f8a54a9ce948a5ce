"""The learning rate as a pure function of the step, so that growth cannot disturb it."""

from __future__ import annotations

import math


def learning_rate(step: int, total: int, peak: float, warmup_fraction: float) -> float:
    """Rate at `step` (0 … total − 1): linear warm-up to `peak`, then a cosine to zero."""
    warmup = round(total * warmup_fraction)
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return peak * 0.5 * (1.0 + math.cos(math.pi * progress))
