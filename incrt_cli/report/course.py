"""How a run went, step by step, taken from its metrics and events; over all layers together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from incrt_cli.report.rows import number, section
from incrt_cli.rundir import Run

Series = list[tuple[float, float]]  # (step, value) in the order of steps
_MORE_HEADS = {"birth": 1, "layer": 1, "prune": -1}  # a layer comes with one head


@dataclass(frozen=True)
class Course:
    """`w`, `by_events` and `by_drift` are sums over layers, the latter two since the start.

    `accuracy` is by population, whose name is empty in a run with only one, on the split `split`.
    """

    name: str
    steps: float
    shift: float | None
    heads: Series
    ratio: Series  # λ_max/θ, the largest of the layers
    w: Series
    by_events: Series
    by_drift: Series
    accuracy: Mapping[str, Series]
    split: str


def course_of(run: Run) -> Course:
    """The course of `run`; what its folder does not hold is an empty series."""
    looks = list(_of_kind(run, "evaluation"))
    w, by_events, by_drift = _functional(run)
    return Course(
        name=run.name,
        steps=number(run.result or {}, "steps") or 0.0,
        shift=shift_step(run),
        heads=_heads(run),
        ratio=_ratio(run),
        w=w,
        by_events=by_events,
        by_drift=by_drift,
        accuracy=_accuracy(looks),
        split=str(looks[0].get("split", "accuracy")) if looks else "accuracy",
    )


def shift_step(run: Run) -> float | None:
    """The number of steps before the distribution changed; None for a stationary run."""
    step: float | None = number(section(run.result, "shift"), "step")
    return step


def _of_kind(run: Run, kind: str) -> Iterator[dict[str, Any]]:
    rows = (row for row in run.metrics or () if row.get("kind") == kind)
    return (row for row in rows if number(row, "step") is not None)


def _heads(run: Run) -> Series:
    """By evaluations and, between them, by events."""
    counts = {row["step"]: row["heads"] for row in _of_kind(run, "evaluation") if number(row, "heads")}
    if not counts:
        return []
    heads, series = counts[min(counts)], {min(counts): counts[min(counts)]}
    for event in run.events or ():
        step, change = number(event, "step"), _MORE_HEADS.get(str(event.get("kind")), 0)
        if step is not None and change:
            heads += change
            series[step] = heads
    return sorted({**counts, **series}.items())


def _ratio(run: Run) -> Series:
    largest: dict[float, float] = {}
    for row in _of_kind(run, "check"):
        top, theta = number(row, "lambda_max"), number(row, "theta")
        # The panel is logarithmic: where nothing is left over there is nothing to draw.
        if top and theta and top / theta > 0:
            largest[row["step"]] = max(largest.get(row["step"], 0.0), top / theta)
    return sorted(largest.items())


def _functional(run: Run) -> tuple[Series, Series, Series]:
    """W, and the sums of what events and drift have changed, at every check before its own events."""
    totals: dict[float, list[float]] = {}
    for row in _of_kind(run, "check"):
        w, drift = number(row, "w"), number(row, "drift_w")
        if w is not None and drift is not None:
            total = totals.setdefault(row["step"], [0.0, 0.0])
            total[0] += w
            total[1] += drift
    changes = [(number(event, "step"), number(event, "delta_w")) for event in run.events or ()]
    known = [(step, change) for step, change in changes if step is not None and change is not None]
    w, by_events, by_drift, drifted = [], [], [], 0.0
    for step, (total_w, drift) in sorted(totals.items()):
        drifted += drift
        w.append((step, total_w))
        by_events.append((step, sum(change for at, change in known if at < step)))
        by_drift.append((step, drifted))
    return w, by_events, by_drift


def _accuracy(looks: list[dict[str, Any]]) -> dict[str, Series]:
    series: dict[str, Series] = {}
    for row in looks:
        accuracy = number(row, "accuracy")
        if accuracy is not None:
            series.setdefault(str(row.get("population", "")), []).append((row["step"], accuracy))
    return series
