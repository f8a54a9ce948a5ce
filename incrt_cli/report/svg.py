"""The little that drawings need: scales, ticks, lines and text, as SVG elements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLOURS = ("#1b6ca8", "#c0392b", "#27823b", "#8e44ad", "#b9770e", "#566573")
GREY = "#888"
Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """Linear from `low`–`high` to the pixels `start`–`end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """The elements `parts` on white, as a whole file."""
    size = f'width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])


def frame(left: float, top: float, width: float, height: float) -> str:
    place = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} fill="none" stroke="{GREY}"/>'


def line(pairs: Sequence[Point], colour: str, dashes: str = "", width: float = 2) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)
    style = f'stroke="{colour}" stroke-width="{width:g}"' + (
        f' stroke-dasharray="{dashes}"' if dashes else ""
    )
    return f'<polyline points="{path}" fill="none" {style}/>'


def mark(point: Point, colour: str, hollow: bool = False) -> str:
    x, y = point
    fill = "white" if hollow else colour
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{colour}"/>'


def text(x: float, y: float, words: str, anchor: str, colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within `low`–`high`, `most` of them at the most."""
    if not high > low:
        return [low]
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(unit * size for size in (1, 2, 5, 10, 20) if (high - low) / (unit * size) <= most - 1)
    return [step * i for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
