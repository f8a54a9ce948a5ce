"""The grid of shapes as a drawing: log–log, one panel against depth and one against width, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 360, 320  # pixels of the area that is drawn in
_LEFT, _TOP, _LEGEND, _BOTTOM = 60, 40, 130, 50
_PANEL = _LEFT + _WIDTH + _LEGEND
_COLOURS = ("#1b6ca8", "#c0392b", "#27823b", "#8e44ad", "#b9770e", "#566573")
_FACTORS = {"b_adaptive": "", "log10_b_norm": "6 4"}  # B_norm is dashed
_MOST_TICKS = 8


@dataclass(frozen=True)
class _Scale:
    """Linear from `low`–`high` to the pixels `start`–`end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)


def grid_svg(figures: Mapping[str, Any]) -> str:
    """B_adaptive (solid) and B_norm (dashed) of `figures`' points, on logarithmic axes."""
    points = figures["points"]
    size = f'width="{2 * _PANEL}" height="{_TOP + _HEIGHT + _BOTTOM}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">']
    parts.append('<rect width="100%" height="100%" fill="white"/>')
    parts += _panel(points, "layers", "model_width", "L", "H", 0)
    parts += _panel(points, "model_width", "layers", "H", "L", _PANEL)
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    points: Sequence[Mapping[str, Any]], along: str, apart: str, label: str, other: str, shift: int
) -> Iterator[str]:
    logs = [_log10(point, factor) for point in points for factor in _FACTORS]
    xs = sorted({point[along] for point in points})
    left, bottom = shift + _LEFT, _TOP + _HEIGHT
    x = _Scale(math.log10(xs[0]), math.log10(xs[-1]), left, left + _WIDTH)
    y = _Scale(math.floor(min(logs)), math.ceil(max(logs)), bottom, _TOP)
    yield f'<rect x="{left}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#888"/>'
    yield _text(left, _TOP - 15, f"B_adaptive (solid), B_norm (dashed) against {label}", "start")
    for value in xs:
        yield _text(x(math.log10(value)), bottom + 18, str(value), "middle")
    for exponent in range(int(y.low), int(y.high) + 1, max(1, math.ceil((y.high - y.low) / _MOST_TICKS))):
        yield _text(left - 6, y(exponent) + 4, f"1e{exponent}", "end")
    for index, value in enumerate(sorted({point[apart] for point in points})):
        colour = _COLOURS[index % len(_COLOURS)]
        line = [point for point in points if point[apart] == value]
        for factor, dashes in _FACTORS.items():
            pairs = [(x(math.log10(point[along])), y(_log10(point, factor))) for point in line]
            yield _line(pairs, colour, dashes)
        yield _text(left + _WIDTH + 10, _TOP + 14 + 18 * index, f"{other} = {value}", "start", colour)


def _log10(point: Mapping[str, Any], factor: str) -> float:
    value = float(point[factor])
    return value if factor.startswith("log10_") else math.log10(value)


def _line(pairs: Sequence[tuple[float, float]], colour: str, dashes: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)
    style = f'stroke="{colour}" stroke-width="2"' + (f' stroke-dasharray="{dashes}"' if dashes else "")
    return f'<polyline points="{path}" fill="none" {style}/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
