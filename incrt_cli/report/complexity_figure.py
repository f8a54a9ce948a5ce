"""Complexity and generalisation gap against heads as a drawing, one colour a run (METHOD §10)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from incrt_cli.report.complexity import tracked_rows
from incrt_cli.report.rows import number
from incrt_cli.report.svg import COLOURS, Point, Scale, document, frame, line, mark, text, ticks
from incrt_cli.rundir import Run

_WIDTH, _HEIGHT = 360, 300  # pixels of one panel's area
_LEFT, _TOP, _BOTTOM, _LINE, _ROOM = 70, 40, 50, 18, 8
_PANEL = _LEFT + _WIDTH + 20

_Rows = Sequence[Mapping[str, Any]]
_Read = Callable[[Mapping[str, Any]], float | None]


def complexity_svg(runs: Sequence[Run]) -> str | None:
    """log10 B_adaptive (filled) and log10 B_norm (hollow), and the loss gap beside them, against heads.

    Evaluations are joined in their order. None where no run tracked both factors, and for more runs than
    there are colours.
    """
    tracked = {run.name: tracked_rows(run) for run in runs}
    courses = {name: rows for name, rows in tracked.items() if rows}
    if not 0 < len(courses) <= len(COLOURS):
        return None
    factors = (_log10_adaptive, lambda row: number(row, "log10_b_norm"))
    panels = [
        *_panel("log10 B_adaptive (filled), log10 B_norm (hollow)", factors, courses, 0),
        *_panel("validation loss less train loss (nats)", (_gap,), courses, _PANEL),
    ]
    bottom = _TOP + _HEIGHT + _BOTTOM
    names = [
        text(_LEFT, bottom + _LINE * index, name, "start", COLOURS[index])
        for index, name in enumerate(courses)
    ]
    return document(2 * _PANEL, bottom + _LINE * len(courses), [*panels, *names])


def _panel(title: str, reads: Sequence[_Read], courses: Mapping[str, _Rows], shift: int) -> Iterator[str]:
    curves = [
        (COLOURS[index], _points(rows, read), read is not reads[0])
        for index, rows in enumerate(courses.values())
        for read in reads
    ]
    places = [point for _, points, _ in curves for point in points]
    if not places:
        return
    heads, values = zip(*places, strict=True)
    left, bottom = shift + _LEFT, _TOP + _HEIGHT
    x = Scale(min(heads), max(heads), left + _ROOM, left + _WIDTH - _ROOM)
    y = Scale(min(values), max(values), bottom - _ROOM, _TOP + _ROOM)
    yield from _axes(title, x, y, left, bottom)
    for colour, points, hollow in curves:
        pixels: list[Point] = [(x(head), y(value)) for head, value in points]
        yield line(pixels, colour, "6 4" if hollow else "", 1)
        yield from (mark(pixel, colour, hollow) for pixel in pixels)


def _axes(title: str, x: Scale, y: Scale, left: float, bottom: float) -> Iterator[str]:
    yield frame(left, _TOP, _WIDTH, _HEIGHT)
    yield text(left, _TOP - 12, title, "start")
    yield text(left + _WIDTH, bottom + 34, "heads", "end")
    yield from (text(x(tick), bottom + 18, f"{tick:g}", "middle") for tick in ticks(x.low, x.high, 9))
    yield from (text(left - 6, y(tick) + 4, f"{tick:.4g}", "end") for tick in ticks(y.low, y.high))


def _points(rows: _Rows, read: _Read) -> list[Point]:
    pairs = [(number(row, "heads"), read(row)) for row in rows]
    return [(heads, value) for heads, value in pairs if heads is not None and value is not None]


def _log10_adaptive(row: Mapping[str, Any]) -> float | None:
    value = number(row, "b_adaptive")
    return math.log10(value) if value else None


def _gap(row: Mapping[str, Any]) -> float | None:
    validation, train = number(row, "validation_loss"), number(row, "train_loss")
    return None if validation is None or train is None else validation - train
