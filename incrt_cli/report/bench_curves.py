"""The cost curves of `incrt bench` as a drawing: log–log, one panel a curve, relative to its first point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incrt_cli.report.svg import COLOURS, GREY, Scale, document, frame, line, text

_WIDTH, _HEIGHT = 260, 220  # pixels of the area that is drawn in
_LEFT, _TOP, _RIGHT, _BOTTOM = 50, 40, 20, 40
_PANEL = _LEFT + _WIDTH + _RIGHT


def curves_svg(figures: Mapping[str, Any]) -> str:
    """Seconds of a step over those of the first point (solid), and what is proportional to x (dashed)."""
    curves, exponents = figures["curves"], figures["curve_exponents"]
    parts = [
        part
        for index, (name, points) in enumerate(curves.items())
        for part in _panel(name, points, exponents[name], index)
    ]
    return document(_PANEL * len(curves), _TOP + _HEIGHT + _BOTTOM, parts)


def _panel(name: str, points: Sequence[Mapping[str, Any]], exponent: float, index: int) -> Iterator[str]:
    left, bottom = index * _PANEL + _LEFT, _TOP + _HEIGHT
    xs = [math.log10(point["x"]) for point in points]
    ys = [math.log10(point["relative"]) for point in points]
    x = Scale(xs[0], xs[-1], left, left + _WIDTH)
    # The same for the curve and for what is proportional, which rises as far as x does.
    y = Scale(min(0.0, *ys), max(xs[-1] - xs[0], *ys), bottom, _TOP)
    yield frame(left, _TOP, _WIDTH, _HEIGHT)
    yield text(left, _TOP - 15, f"a step against {name}: e = {exponent:.2f}", "start")
    for value, place in zip(points, xs, strict=True):
        yield text(x(place), bottom + 18, str(value["x"]), "middle")
    for power in range(math.ceil(y.low), math.floor(y.high) + 1):
        yield text(left - 6, y(power) + 4, f"{10.0**power:g}", "end")
    yield line([(x(xs[0]), y(0.0)), (x(xs[-1]), y(xs[-1] - xs[0]))], GREY, "4 4", width=1)
    yield line([(x(a), y(b)) for a, b in zip(xs, ys, strict=True)], COLOURS[index % len(COLOURS)])
