"""How both factors grow with depth and width: randomly initialised BERT shapes, trained models beside them.

METHOD §10.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from incrt_cli.complexity.figures import totals
from incrt_cli.complexity.weights import GELU, LayerWeights, Measured, layer_spectra
from incrt_cli.errors import UserError
from incrt_cli.geometry.complexity import Complexity, complexity

HEAD_WIDTH = 64
_INITIAL_SD = 0.02  # BERT's own
_AXES = ("L", "H")
_FACTORS = ("b_adaptive", "b_norm")


@dataclass(frozen=True)
class Point:
    """One model: `depth` L layers of `width` H, `heads` in all; `trained` names its folder, if any."""

    depth: int
    width: int
    heads: int
    complexity: Complexity
    trained: str | None = None


def trained_point(name: str, measured: Measured) -> Point:
    """A model that was read from the folder `name`."""
    return Point(len(measured.heads), measured.width, sum(measured.heads), measured.complexity, name)


def parse_grid(arguments: Sequence[str]) -> tuple[list[int], list[int]]:
    """`L=2,4 H=128,256` as depths and widths, ascending; raises UserError for anything else."""
    values: dict[str, list[int]] = {}
    for argument in arguments:
        axis, _, listed = argument.partition("=")
        numbers = [int(text) if text.isdecimal() else 0 for text in listed.split(",")]
        if axis not in _AXES or axis in values or min(numbers) < 1:
            raise UserError(f"--grid: {argument!r}: expected one L=2,4,8 and one H=128,256,512")
        values[axis] = sorted(set(numbers))
    missing = [axis for axis in _AXES if axis not in values]
    if missing:
        raise UserError(f"--grid: {' and '.join(missing)} missing, for example L=2,4,8 H=128,256,512")
    odd = [width for width in values["H"] if width % HEAD_WIDTH]
    if odd:
        raise UserError(f"--grid: H={odd[0]} is no multiple of {HEAD_WIDTH}, the width of a head")
    return values["L"], values["H"]


def measure_grid(depths: Sequence[int], widths: Sequence[int], seed: int) -> list[Point]:
    """Every shape of the grid. Of one width the deeper model begins with the layers of the shallower."""
    points = []
    for width in widths:
        spectra = [layer_spectra(layer) for layer in random_bert_layers(max(depths), width, seed)]
        points += [
            Point(depth, width, depth * width // HEAD_WIDTH, complexity(spectra[:depth], width, GELU))
            for depth in depths
        ]
    return points


def random_bert_layers(depth: int, width: int, seed: int) -> Iterator[LayerWeights]:
    """Layers of H/64 heads and a feed-forward block of 4H as BERT starts them, one at a time."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator) * _INITIAL_SD

    heads = width // HEAD_WIDTH
    for _ in range(depth):
        yield LayerWeights(
            w_q=normal(heads, width, HEAD_WIDTH),
            w_k=normal(heads, width, HEAD_WIDTH),
            w_v=normal(heads, width, HEAD_WIDTH),
            w_o=normal(heads, HEAD_WIDTH, width),
            m_in=normal(width, 4 * width),
            m_out=normal(4 * width, width),
        )


def grid_figures(points: Sequence[Point], seed: int) -> dict[str, Any]:
    """The grid, its exponents and the trained models as plain figures; `trained` tells them apart.

    Trained models have no part in the exponents: they differ in more than their shape.
    """
    listed = [
        {
            "trained": point.trained,
            "layers": point.depth,
            "model_width": point.width,
            "heads": point.heads,
            **totals(point.complexity),
        }
        for point in points
    ]
    shapes = [point for point in points if point.trained is None]
    return {"seed": seed, "points": listed, "exponents": growth_exponents(shapes)}


def growth_exponents(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Least-squares slopes of ln B on ln L at every H and on ln H at every L, and of all of them together.

    Together (`at` is None) every line keeps its own intercept and shares the slope. `standard_error` is None
    where no degree of freedom is left.
    """
    rows = []
    for factor in _FACTORS:
        for axis in _AXES:
            lines = _lines(points, factor, axis)
            fits = [(at, slope([line])) for at, line in lines.items()] + [(None, slope(list(lines.values())))]
            rows += [
                {"factor": factor, "in": axis, "at": at, "exponent": fit[0], "standard_error": fit[1]}
                for at, fit in fits
                if fit is not None
            ]
    return rows


Line = list[tuple[float, float]]


def _lines(points: Sequence[Point], factor: str, axis: str) -> dict[int, Line]:
    """ln B against ln of `axis`, apart for each value of the other axis."""
    lines: dict[int, Line] = {}
    for point in points:
        log_b = (
            math.log(point.complexity.b_adaptive) if factor == "b_adaptive" else point.complexity.log_b_norm
        )
        x, at = (point.depth, point.width) if axis == "L" else (point.width, point.depth)
        lines.setdefault(at, []).append((math.log(x), log_b))
    return lines


def slope(lines: Sequence[Line]) -> tuple[float, float | None] | None:
    """The common slope of `lines` and its standard error; None where no line has two points."""
    centred = [(x - _mean(line, 0), y - _mean(line, 1)) for line in lines for x, y in line]
    spread = math.fsum(x * x for x, _ in centred)
    if not spread:
        return None
    value = math.fsum(x * y for x, y in centred) / spread
    freedom = len(centred) - len(lines) - 1
    residual = math.fsum((y - value * x) ** 2 for x, y in centred)
    return value, math.sqrt(residual / freedom / spread) if freedom > 0 else None


def _mean(line: Line, part: int) -> float:
    return math.fsum(point[part] for point in line) / len(line)
