"""Part `curves`: what a training step costs against heads K, width d, tokens n and classes c.

seconds ∝ x^e,   e by least squares of log seconds on log x over the last half of the points
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from incrt_cli.bench.measurement import Context, Found, seconds_of
from incrt_cli.bench.subjects import Shape, random_step
from incrt_cli.bench.timing import Timing, side_by_side

BASE = Shape(batch=8, tokens=64, width=64, head_width=16, heads=16, classes=6)
QUICK_BASE = Shape(batch=2, tokens=8, width=16, head_width=4, heads=2, classes=2)
_SECONDS = 8.0  # of a curve, whose points take turns
# the field of the shape that varies, and its values
CURVES = {
    "heads": (1, 2, 4, 8, 16, 32, 64, 128),
    "width": (32, 64, 128, 256, 512, 768),
    "tokens": (32, 64, 128, 256, 512),
    "classes": (2, 10, 100, 1000),
}


def curves(context: Context) -> Found:
    """`curves`: {x, seconds, q1, q3, relative to the first point} of each; `curve_exponents`."""
    found, base = Found({"curves": {}, "curve_exponents": {}}), QUICK_BASE if context.quick else BASE
    for name, values in CURVES.items():
        shapes = {x: replace(base, **{name: x}) for x in (values[:3] if context.quick else values)}
        timings = _timings(context, shapes)
        for x, timing in timings.items():
            found.measurements += seconds_of("curves", {f"{name} = {x}": timing}, shapes[x].named())
        points = _points(timings)
        found.figures["curves"][name] = points
        found.figures["curve_exponents"][name] = exponent(
            [point["x"] for point in points], [point["seconds"] for point in points]
        )
    return found


def exponent(xs: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of log `seconds` on log `xs` over the last half of the points, two at the least."""
    count = max(2, len(xs) - len(xs) // 2)
    return float(np.polyfit(np.log(xs[-count:]), np.log(seconds[-count:]), 1)[0])


def _timings(context: Context, shapes: Mapping[int, Shape]) -> dict[int, Timing]:
    """All points of a curve side by side."""
    effort = context.effort if context.quick else replace(context.effort, seconds=_SECONDS)
    train, device = context.config.train, context.device
    works = {str(x): random_step(shape, train, device) for x, shape in shapes.items()}
    return {int(x): timing for x, timing in side_by_side(works, effort, context.clock).items()}


def _points(timings: dict[int, Timing]) -> list[dict[str, Any]]:
    first = next(iter(timings.values()))
    return [
        {
            "x": x,
            "seconds": timing.median,
            "q1": timing.quartiles[0],
            "q3": timing.quartiles[2],
            "relative": timing.over(first),
        }
        for x, timing in timings.items()
    ]
