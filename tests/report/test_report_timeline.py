"""A run over its steps, as figures and as a drawing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from incrt_cli.report.course import course_of
from incrt_cli.report.svg import ticks
from incrt_cli.report.timeline import timeline_of
from incrt_cli.rundir import Run, read_run


def _evaluation(step: int, heads: int, accuracy: float, **more: Any) -> dict[str, Any]:
    row = {"kind": "evaluation", "step": step, "heads": heads, "accuracy": accuracy, "split": "validation"}
    return {**row, **more}


def _check(step: int, layer: int, ratio: float, w: float, drift: float) -> dict[str, Any]:
    row = {"kind": "check", "step": step, "layer": layer, "lambda_max": ratio, "theta": 1.0}
    return {**row, "w": w, "drift_w": drift}


METRICS = [
    _evaluation(0, 2, 0.5), _check(10, 0, 1.5, 4.0, -1.0), _check(10, 1, 0.5, 3.0, 0.5),
    _check(20, 0, 0.5, 3.5, 0.25), _check(20, 1, 0.8, 3.0, 0.0), _evaluation(40, 2, 0.9),
]  # fmt: skip
EVENTS = [
    {"kind": "birth", "step": 10, "layer": 0, "head": 1, "heads": 2, "delta_w": -0.75},
    {"kind": "prune_undone", "step": 20, "layer": 0, "head": 1, "heads": 2, "delta_w": 0.0},
    {"kind": "prune", "step": 30, "layer": 0, "head": 1, "heads": 1, "delta_w": -0.25},
]  # fmt: skip


@pytest.fixture
def lived(make_run) -> Callable[..., Run]:
    """`lived(name, metrics, events, **result changes)`: a run with a course."""

    def make(name="demo", metrics=METRICS, events=EVENTS, **changes: Any) -> Run:
        path = make_run(name, steps=40, **changes).path
        for file, rows in (("metrics", metrics), ("events", events)):
            (path / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return read_run(path)

    return make


def _drawn(drawing: str | None) -> tuple[ElementTree.Element, str]:
    assert drawing is not None
    root = ElementTree.fromstring(drawing)
    return root, "\n".join(element.text or "" for element in root.iter())


def test_heads_follow_births_and_prunes_but_not_undone_ones(lived):
    assert course_of(lived()).heads == [(0, 2), (10, 3), (30, 2), (40, 2)]


def test_a_layer_brings_a_head(lived):
    events = [
        {"kind": "layer", "step": 10, "layer": 1, "head": 0, "heads": 1},
        {"kind": "birth", "step": 20, "layer": 1, "head": 1, "heads": 2},
    ]
    assert course_of(lived(metrics=[_evaluation(0, 2, 0.5)], events=events)).heads == [
        (0, 2),
        (10, 3),
        (20, 4),
    ]


def test_w_is_summed_over_layers_and_its_changes_over_steps(lived):
    course = course_of(lived())
    assert course.w == [(10, 7.0), (20, 6.5)]
    assert course.by_events == [(10, 0), (20, -0.75)]
    assert course.by_drift == [(10, -0.5), (20, -0.25)]
    # The account closes: what W has moved is what events and drift have moved it.
    assert 7.0 - 6.5 == -(-0.75 + 0.25)


def test_the_ratio_is_the_largest_of_the_layers(lived):
    assert course_of(lived()).ratio == [(10, 1.5), (20, 0.8)]


def test_the_drawing_has_a_panel_for_each_and_no_shift(lived):
    root, words = _drawn(timeline_of([lived()]))
    assert len(root.findall("{*}rect")) == 1 + 4
    assert all(title in words for title in ("heads", "λ_max / θ", "W = Γ² + c K", "accuracy", "validation"))
    assert "shift" not in words and "nan" not in ElementTree.tostring(root).decode()


def test_a_shift_is_a_vertical_line_and_two_accuracies(lived):
    rows = [_evaluation(s, 1, a, population=p) for s in (0, 20, 40) for p, a in (("before", 1), ("after", 0))]
    run = lived(metrics=rows, events=[], shift={"step": 20, "populations": {}})
    root, words = _drawn(timeline_of([run]))
    assert {"population before the shift", "population after the shift"} <= set(words.splitlines())
    assert len(root.findall("{*}rect")) == 1 + 2, "no checks, no panels of the gate"
    upright = [line.get("points", "").split() for line in root.findall("{*}polyline")]
    assert any(len({point.split(",")[0] for point in points}) == 1 for points in upright)


def test_static_runs_stand_in_the_growing_ones_panel_of_accuracy(lived):
    static = lived("static", [_evaluation(0, 3, 0.4), _evaluation(40, 3, 0.8)], [], growing=False)
    assert "static: validation" in _drawn(timeline_of([static, lived()]))[1]


def test_two_growing_runs_have_no_drawing(lived):
    assert timeline_of([lived("one"), lived("two")]) is None


def test_a_run_that_recorded_nothing_is_still_drawn(make_run):
    assert len(_drawn(timeline_of([make_run()]))[0].findall("{*}rect")) == 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 704, [0, 200, 400, 600]), (-0.4, 0.5, [-0.4, -0.2, 0, 0.2, 0.4]), (3, 3, [3])],
)
def test_ticks_are_round_and_few(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)
