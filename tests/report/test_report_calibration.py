"""The law's constant is fitted on other tasks only."""

from __future__ import annotations

import json
import math

import pytest

from incrt_cli.errors import UserError
from incrt_cli.report.calibration import calibrate, errors
from incrt_cli.report.calibration_tables import calibration_tables
from incrt_cli.report.tasks import data_source
from incrt_cli.rundir import Run, read_run

LAW = 14.4  # k_law of every fabricated run


def synthetic(variants: int, **sections) -> dict:
    return {"data": {"kind": "synthetic", "variants": variants}, **sections}


def fasta(sequences: str, **data) -> dict:
    return {"data": {"kind": "fasta", "sequences": sequences, **data}}


@pytest.fixture
def with_hashes(make_run):
    """`with_hashes(config, {file: hash})`: a run whose environment records what it read."""

    def make(config: dict, hashes: dict[str, str]) -> Run:
        path = make_run(config=config).path
        environment = json.loads((path / "environment.json").read_text())
        (path / "environment.json").write_text(json.dumps(environment | {"data_sha256": hashes}))
        return read_run(path)

    return make


def test_a_run_is_predicted_by_the_other_tasks_each_counted_once(make_run):
    # Ratios to the law: 0.5 and 2 on one task (mean log 0), 4 on another, 1 on a third.
    ratios = [(3, 0.5), (3, 2.0), (6, 4.0), (9, 1.0)]
    runs = [make_run(config=synthetic(variants), heads=LAW * ratio) for variants, ratio in ratios]
    rows = calibrate(runs).rows
    assert [row["c"] for row in rows] == pytest.approx([2.0, 2.0, 1.0, 2.0])
    assert [row["fitted_tasks"] for row in rows] == [2] * 4
    assert rows[2]["k_calibrated"] == pytest.approx(LAW)
    assert (rows[2]["ratio"], rows[2]["abs_log_ratio"]) == pytest.approx((4.0, math.log(4)))


def test_no_run_moves_its_own_prediction(make_run):
    def constants(heads: float) -> list[float]:
        runs = [make_run(config=synthetic(3), heads=heads), make_run(config=synthetic(3), seed=1)]
        return [row["c"] for row in calibrate([*runs, make_run(config=synthetic(6), heads=20)]).rows[:2]]

    assert constants(5) == constants(50) == pytest.approx([20 / LAW] * 2)


def test_the_interval_is_students_over_tasks(make_run):
    runs = [make_run(config=synthetic(n), heads=LAW * math.exp(n)) for n in (1, 2, 3)]
    constant = calibrate(runs).constant
    reach = 4.302653 / math.sqrt(3)  # t(0.975, 2 degrees of freedom); standard deviation 1
    assert constant.value == pytest.approx(math.exp(2))
    assert (constant.low, constant.high) == pytest.approx((math.exp(2 - reach), math.exp(2 + reach)))


def test_one_other_task_gives_a_constant_and_no_interval(make_run):
    row = calibrate([make_run(config=synthetic(n)) for n in (3, 6)]).rows[0]
    assert row["c"] == pytest.approx(12 / LAW) and row["c_low"] is None and row["c_high"] is None


@pytest.mark.parametrize(
    ("config", "changes", "reason"),
    [
        ({}, {"growing": False}, "static model"),
        ({}, {"permuted_labels": True}, "permuted labels"),
        ({"train": {"frozen": True}}, {}, "frozen model"),
        ({"gate": {"birth": "random"}}, {}, "random directions at birth"),
        ({"gate": {"variant": "notebook"}}, {}, "another gate than the paper's"),
        ({}, {"heads": 0}, "no k_law or no heads recorded"),
        ({}, {"finished": False}, "not a finished run (result.json is missing: the run has not finished)"),
    ],
)
def test_controls_and_unfinished_runs_are_left_out_and_named(make_run, config, changes, reason):
    run = make_run("odd", synthetic(9, **config), **changes)
    calibration = calibrate([make_run(config=synthetic(3)), make_run(config=synthetic(6)), run])
    assert calibration.left_out == [("odd", reason)]
    assert len(calibration.rows) == 2
    assert calibration_tables(calibration)[-1].rows == ((reason, "odd", "1"),)


@pytest.mark.parametrize(
    ("configs", "said"), [([], "some of none"), ([synthetic(3)] * 2, "only of one, synthetic, 3 variants")]
)
def test_with_fewer_than_two_tasks_what_is_missing_is_said(make_run, configs, said):
    runs = [make_run(config=config) for config in configs]
    with pytest.raises(UserError) as caught:
        calibrate([*runs, make_run(growing=False)])
    assert said in str(caught.value) and "Left out: static model" in str(caught.value)


def test_one_fasta_is_one_task_wherever_it_lies_and_whatever_is_cut_from_it(with_hashes):
    first = with_hashes(fasta("a/x.fa", region="1:9"), {"a/x.fa": "1", "ref.fa": "2"})
    moved = with_hashes(fasta("b/y.fa", label="Clade"), {"b/y.fa": "1"})
    other = with_hashes(fasta("a/x.fa"), {"a/x.fa": "3"})
    assert data_source(first) == data_source(moved) != data_source(other)
    assert data_source(first).name == "x.fa"


def test_sentences_are_told_apart_by_all_of_their_files(with_hashes):
    def source(path: str, **hashes: str):
        return data_source(with_hashes({"data": {"kind": "text", "path": path}}, hashes))

    assert source("sst2", train="1", dev="2") == source("copy", dev="2", train="1")
    assert source("sst2", train="1") != source("sst2", train="3")
    assert source("mine").name == "mine"


def test_drawing_generated_data_anew_makes_no_other_task(make_run):
    sources = [data_source(make_run(config=synthetic(n))) for n in (3, 6)]
    anew = make_run(config={"data": {"kind": "synthetic", "variants": 3, "population_seed": 4, "genomes": 9}})
    assert sources[0] != sources[1] and data_source(anew) == sources[0]


def test_each_prediction_is_held_against_what_was_observed(make_run):
    calibration = calibrate([make_run(config=synthetic(n), heads=h) for n, h in ((3, 11), (6, 22))])
    assert errors(calibration.rows, "k_greedy") == pytest.approx([0.0, math.log(2)])
    runs, off, *_ = calibration_tables(calibration)
    assert dict(zip(runs.columns, runs.rows[0], strict=True)) == {
        "run": "demo", "task": "synthetic, 3 variants", "seed": "0", "k_law": "14.4", "k_greedy": "11",
        "k_bound": "31", "c": "1.53", "k_calibrated": "22.0", "observed": "11", "ratio": "0.50",
        "|ln ratio|": "0.69", "stopped by itself": "yes",
    }  # fmt: skip
    assert off.rows[1] == ("k_greedy", "0.35", "0.69", "2.00", "2")
    assert "t interval" in runs.notes[1]


def test_a_run_that_ended_while_growing_is_marked_as_a_lower_bound(make_run):
    runs = [
        make_run(config=synthetic(n), stopped_by_itself=stopped) for n, stopped in ((3, True), (6, False))
    ]
    table = calibration_tables(calibrate(runs))[0]
    assert [row[-1] for row in table.rows] == ["yes", "no"]
    assert table.notes[-1].startswith("1 run(s) ended before growth had stopped")
