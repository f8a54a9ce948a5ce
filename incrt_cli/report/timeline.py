"""A run over its steps as a drawing: heads, the gate's ratio, W and accuracy (METHOD §4, §8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from incrt_cli.report.course import Course, Series, course_of
from incrt_cli.report.rows import flag
from incrt_cli.report.svg import COLOURS, GREY, Point, Scale, document, frame, line, text, ticks
from incrt_cli.rundir import Run

_WIDTH, _HEIGHT, _GAP = 640, 130, 42  # pixels of one panel's area
_LEFT, _TOP, _LEGEND, _BOTTOM = 70, 52, 230, 40
_SHIFT = COLOURS[4]
_POPULATIONS = {"before": "population before the shift", "after": "population after the shift"}


class _Curve(NamedTuple):
    label: str
    points: Series
    colour: str
    dashes: str = ""


@dataclass(frozen=True)
class _Panel:
    """Curves on one vertical axis; `level` is drawn across."""

    title: str
    curves: Sequence[_Curve]
    logarithmic: bool = False
    level: float | None = None

    @property
    def values(self) -> list[float]:
        shown = [value for curve in self.curves for _, value in curve.points]
        return shown if self.level is None or not shown else [*shown, self.level]


def timeline_of(runs: Sequence[Run]) -> str | None:
    """The drawing of a single finished run, or of the one that grows among static ones; None for others."""
    complete = [run for run in runs if run.status == "complete"]
    growing = [run for run in complete if flag(run.result or {}, "growing")]
    subjects = complete if len(complete) == 1 else growing
    if len(subjects) != 1:
        return None
    return timeline_svg(subjects[0], [run for run in complete if run is not subjects[0]])


def timeline_svg(run: Run, compared: Sequence[Run] = ()) -> str:
    """The course of `run`, with the accuracy of `compared` (the same without growth, say) beside its own.

    A panel that the run holds nothing for is left out, as the gate's of a static model.
    """
    course = course_of(run)
    panels = [panel for panel in _panels(course, [course_of(other) for other in compared]) if panel.values]
    steps = max([course.steps, *(step for panel in panels for c in panel.curves for step, _ in c.points)])
    x = Scale(0, steps, _LEFT, _LEFT + _WIDTH)
    parts: list[str] = [text(_LEFT, 16, run.name, "start")]
    bottom = _TOP
    for index, panel in enumerate(panels):
        top = _TOP + index * (_HEIGHT + _GAP)
        bottom = top + _HEIGHT
        parts += _drawn(panel, x, top, course.shift)
    parts += [text(x(step), bottom + 16, f"{step:g}", "middle") for step in ticks(0, steps, 9)]
    parts.append(text(_LEFT + _WIDTH, bottom + 32, "step", "end"))
    return document(_LEFT + _WIDTH + _LEGEND, bottom + _BOTTOM, parts)


def _panels(course: Course, compared: Sequence[Course]) -> Iterator[_Panel]:
    yield _Panel("heads", [_Curve("heads", _stairs(course.heads), COLOURS[0])])
    ratio = _Curve("λ_max / θ (largest of layers)", course.ratio, COLOURS[0])
    yield _Panel("λ_max / θ, logarithmic", [ratio], logarithmic=True, level=1.0)
    parts = (("W", course.w), ("changed by events", course.by_events), ("changed by drift", course.by_drift))
    curves = [_Curve(name, points, COLOURS[i]) for i, (name, points) in enumerate(parts)]
    yield _Panel("W = Γ² + c K", curves, level=0.0 if course.w else None)
    yield _Panel("accuracy", list(_accuracies(course, compared)))


def _accuracies(course: Course, compared: Sequence[Course]) -> Iterator[_Curve]:
    for number, shown in enumerate((course, *compared)):
        dashes = "" if number == 0 else f"{8 // number + 1} 4"
        for index, (population, points) in enumerate(shown.accuracy.items()):
            named = _POPULATIONS.get(population, shown.split)
            label = named if number == 0 else f"{shown.name}: {population or shown.split}"
            yield _Curve(label, points, COLOURS[index], dashes)


def _stairs(points: Series) -> Series:
    """A count holds until it changes."""
    stairs = list(points[:1])
    for (_, held), (step, value) in zip(points, points[1:], strict=False):
        stairs += [(step, held), (step, value)]
    return stairs


def _drawn(panel: _Panel, x: Scale, top: float, shift: float | None) -> Iterator[str]:
    value_of: Callable[[float], float] = math.log10 if panel.logarithmic else float
    low, high = min(panel.values), max(panel.values)
    y = Scale(value_of(low), value_of(high), top + _HEIGHT - 6, top + 6)
    yield frame(x.start, top, _WIDTH, _HEIGHT)
    yield text(x.start, top - 8, panel.title, "start")
    for tick in _log_ticks(low, high) if panel.logarithmic else ticks(low, high):
        yield text(x.start - 6, y(value_of(tick)) + 4, f"{tick:,.4g}", "end")
    if panel.level is not None:
        across: list[Point] = [(x.start, y(value_of(panel.level))), (x.end, y(value_of(panel.level)))]
        yield line(across, GREY, "2 3", 1)
    if shift is not None:
        yield line([(x(shift), top), (x(shift), top + _HEIGHT)], _SHIFT, "4 3", 1)
        yield text(x(shift) + 4, top - 8, "shift", "start", _SHIFT)
    for index, curve in enumerate(panel.curves):
        pairs = [(x(step), y(value_of(value))) for step, value in curve.points]
        yield line(pairs, curve.colour, curve.dashes)
        place = top + 14 + 17 * index
        yield line([(x.end + 8, place - 4), (x.end + 30, place - 4)], curve.colour, curve.dashes)
        yield text(x.end + 36, place, curve.label, "start", curve.colour)


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of every power of ten within `low`–`high`, or evenly spaced ones where that is too few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [size * 10.0**power for power in powers for size in (1, 2, 5)]
    within = [mark for mark in marks if low <= mark <= high]
    return within if len(within) > 2 else ticks(low, high)
