"""What the first part of a run says about its last head."""

from __future__ import annotations

import json
import math

import pytest

from incrt_cli.report.calibration import calibrate
from incrt_cli.report.calibration_tables import calibration_tables
from incrt_cli.report.foresight import fit_on_others, k_pilot, projected_heads
from incrt_cli.rundir import Run, read_run

ONE_LAYER = {"layers": [{"layer": 0, "k_greedy": 11}]}
TWO_LAYERS = {"layers": [{"layer": 0, "k_greedy": 11}, {"layer": 1, "k_greedy": 2}]}


def look(step: int, projected: int | None, spent: float, layer: int = 0) -> dict:
    return {"kind": "check", "step": step, "layer": layer, "projected": projected, "rate_spent": spent}


@pytest.fixture
def looked_at(make_run):
    """`looked_at(variants, looks, heads)`: a run of 1,052 steps with these looks; k_greedy is 11."""

    def make(variants: int, looks: list[dict], heads: int = 12) -> Run:
        run = make_run(config={"data": {"kind": "synthetic", "variants": variants}}, heads=heads)
        with open(run.path / "metrics.jsonl", "a") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in looks)
        return read_run(run.path)

    return make


def test_before_the_first_step_it_is_the_greedy_count(make_run):
    assert projected_heads(make_run(), 0.0) == 11


def test_what_has_moved_is_carried_on_with_the_root_of_the_rate_spent():
    assert k_pilot(ONE_LAYER, [look(20, 14, 0.25)], 20) == 11 + 3 / 0.5
    assert k_pilot(ONE_LAYER, [look(20, 11, 0.25)], 20) == 11


def test_the_last_exact_look_within_the_share_counts(looked_at):
    run = looked_at(3, [look(20, 12, 0.25), look(100, 14, 0.25), look(105, None, 0.25), look(110, 20, 0.81)])
    assert projected_heads(run, 0.1) == 17  # of 1,052 steps the first 105; the look there was no exact one
    assert projected_heads(run, 0.5) == 21


def test_layers_add_up_and_one_that_was_not_looked_at_leaves_the_count_open():
    assert k_pilot(TWO_LAYERS, [look(20, 12, 0.25), look(20, 3, 0.25, layer=1)], 20) == 13 + 4
    assert k_pilot(TWO_LAYERS, [look(20, 12, 0.5), look(20, None, 0.5, layer=1)], 20) is None
    assert k_pilot(TWO_LAYERS, [], 20) is None


def test_of_a_layer_that_came_later_nothing_was_predicted():
    assert k_pilot(ONE_LAYER, [look(20, 12, 0.5), look(20, 3, 0.5, layer=1)], 20) is None


def test_the_constant_of_a_task_comes_from_the_others_each_counted_once():
    logs = [("a", 1.0), ("a", 3.0), ("b", 4.0), ("c", 8.0)]
    assert fit_on_others(logs) == {"a": 6.0, "b": 5.0, "c": 3.0}
    assert fit_on_others(logs[:2]) == {}


def test_a_drift_that_all_tasks_share_is_calibrated_away(looked_at):
    runs = [looked_at(n, [look(100, k, 1.0)], heads=2 * k) for n, k in ((3, 5), (6, 10), (9, 7))]
    calibration = calibrate(runs)
    early = {entry.share: entry for entry in calibration.foresight}
    assert early[0.1].calibrated == pytest.approx([0.0] * 3)
    assert early[0.1].raw == pytest.approx([math.log(2)] * 3)
    assert early[0.1].constants == pytest.approx((2.0,) * 3)
    table = next(t for t in calibration_tables(calibration) if t.title.startswith("How early"))
    assert table.rows[1] == ("10", "2.00 to 2.00", "0.00", "0.00", "0.69", "0.69", "3")


def test_runs_that_recorded_no_projection_are_told_by_their_greedy_count_alone(make_run):
    runs = [make_run(config={"data": {"kind": "synthetic", "variants": n}}, heads=n) for n in (3, 6)]
    assert [entry.share for entry in calibrate(runs).foresight] == [0.0]
