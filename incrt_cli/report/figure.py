"""The grid of shapes as a drawing: log–log, one panel against depth and one against width, as SVG.

Trained models stand in it as points beside the lines of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incrt_cli.report.svg import COLOURS, Scale, document, frame, line, mark, text

_WIDTH, _HEIGHT = 360, 320  # pixels of the area that is drawn in
_LEFT, _TOP, _LEGEND, _BOTTOM = 60, 40, 130, 50
_PANEL = _LEFT + _WIDTH + _LEGEND
_FACTORS = {"b_adaptive": "", "log10_b_norm": "6 4"}  # B_norm is dashed
_MOST_TICKS = 8


def grid_svg(figures: Mapping[str, Any]) -> str:
    """B_adaptive (solid, filled) and B_norm (dashed, hollow) of `figures`' points, on logarithmic axes."""
    points = figures["points"]
    depth = _panel(points, "layers", "model_width", "L", "H", 0)
    width = _panel(points, "model_width", "layers", "H", "L", _PANEL)
    return document(2 * _PANEL, _TOP + _HEIGHT + _BOTTOM, [*depth, *width])


def _panel(
    points: Sequence[Mapping[str, Any]], along: str, apart: str, label: str, other: str, shift: int
) -> Iterator[str]:
    logs = [_log10(point, factor) for point in points for factor in _FACTORS]
    xs = sorted({point[along] for point in points})
    left, bottom = shift + _LEFT, _TOP + _HEIGHT
    x = Scale(math.log10(xs[0]), math.log10(xs[-1]), left, left + _WIDTH)
    y = Scale(math.floor(min(logs)), math.ceil(max(logs)), bottom, _TOP)
    yield frame(left, _TOP, _WIDTH, _HEIGHT)
    yield text(left, _TOP - 15, f"B_adaptive (solid), B_norm (dashed) against {label}", "start")
    for value in xs:
        yield text(x(math.log10(value)), bottom + 18, str(value), "middle")
    for exponent in range(int(y.low), int(y.high) + 1, max(1, math.ceil((y.high - y.low) / _MOST_TICKS))):
        yield text(left - 6, y(exponent) + 4, f"1e{exponent}", "end")
    grid = [point for point in points if point["trained"] is None]
    for index, value in enumerate(sorted({point[apart] for point in grid})):
        colour = COLOURS[index % len(COLOURS)]
        shapes = [point for point in grid if point[apart] == value]
        for factor, dashes in _FACTORS.items():
            pairs = [(x(math.log10(point[along])), y(_log10(point, factor))) for point in shapes]
            yield line(pairs, colour, dashes)
        yield text(left + _WIDTH + 10, _TOP + 14 + 18 * index, f"{other} = {value}", "start", colour)
    yield from _trained(points, along, x, y)


def _trained(points: Sequence[Mapping[str, Any]], along: str, x: Scale, y: Scale) -> Iterator[str]:
    for point in points:
        if point["trained"] is not None:
            adaptive, norm = ((x(math.log10(point[along])), y(_log10(point, f))) for f in _FACTORS)
            yield mark(adaptive, "black")
            yield mark(norm, "black", hollow=True)
            yield text(adaptive[0] + 8, adaptive[1] + 4, point["trained"], "start")


def _log10(point: Mapping[str, Any], factor: str) -> float:
    value = float(point[factor])
    return value if factor.startswith("log10_") else math.log10(value)
