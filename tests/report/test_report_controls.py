"""A grown run beside its controls, from fabricated run folders."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

from incrt_cli.report.controls import controls_tables, needed_heads
from incrt_cli.report.table import Table
from incrt_cli.rundir import Run, read_run

GROWN = {0: 4, 1: 3}  # seed -> heads
ACCURACY = {1: [0.70, 0.72], 2: [0.80, 0.82], 3: [0.5, 0.815], 4: [0.83, 0.81]}  # static heads -> by seed


@pytest.fixture
def family(make_run) -> list[Run]:
    """Two seeds of everything that `incrt train --controls` leaves, in one folder."""
    runs = []
    for seed, heads in GROWN.items():
        runs.append(make_run(f"grown-seed{seed}", seed=seed, heads=heads, accuracy=0.9 + 0.02 * seed))
        runs.append(make_run(f"permuted-seed{seed}", seed=seed, heads=3, accuracy=0.25))
        for count in (1, 2, 4):
            accuracy = ACCURACY[count][seed]
            runs.append(make_run(f"static-{count}-seed{seed}", seed=seed, heads=count, accuracy=accuracy))
    runs.append(make_run("static-3-seed1", seed=1, heads=3, accuracy=ACCURACY[3][1]))
    return runs


def lines(table: Table) -> dict[str, dict[str, str]]:
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_every_control_has_one_line_over_its_seeds(family):
    (table,) = controls_tables(family)
    assert table.title == "Controls: runs"
    shown = lines(table)
    assert list(shown) == [
        "grown", "permuted labels", "static, as many as grown", "static, 1 a layer", "static, 2 a layer",
        "static, 4 a layer",
    ]  # fmt: skip
    assert shown["grown"] == {
        "control": "grown", "heads": "3.5 ± 0.7", "accuracy %": "91.0 ± 1.4", "parameters": "123,456 ± 0",
        "seconds": "61.2 ± 0.0", "seeds": "2", "growth stopped": "2 of 2",
    }  # fmt: skip


def test_growth_that_training_cut_short_is_counted_and_a_static_model_has_none(make_run):
    runs = [
        make_run("grown-seed0", heads=3),
        make_run("grown-seed1", heads=3, stopped_by_itself=False),
        make_run("static-1-seed0", heads=1, growing=False),
    ]
    shown = lines(controls_tables(runs)[0])
    assert shown["grown"]["growth stopped"] == "1 of 2"
    assert shown["static, 1 a layer"]["growth stopped"] == "–"


def test_the_static_model_of_equal_size_is_that_of_the_same_seed(family):
    (table,) = controls_tables(family)
    row = lines(table)["static, as many as grown"]
    paired = [100 * ACCURACY[4][0], 100 * ACCURACY[3][1]]
    assert row["heads"] == "3.5 ± 0.7"
    assert row["accuracy %"] == f"{statistics.mean(paired):.1f} ± {statistics.stdev(paired):.1f}"


def test_the_needed_count_is_said_where_the_sweep_is_complete(family):
    (table,) = controls_tables(family)
    assert "Needed: 2 a layer" in table.notes[1] and "of the best one, 4" in table.notes[1]


def test_an_incomplete_sweep_says_what_is_missing_and_no_count(family):
    (table,) = controls_tables([run for run in family if run.name != "static-2-seed1"])
    assert "not known" in table.notes[1] and "without static-2-seed1" in table.notes[1]


def test_a_grown_run_of_one_head_has_no_sweep(make_run):
    (table,) = controls_tables([make_run("grown-seed0", heads=1), make_run("static-1-seed0", heads=1)])
    assert "a single head count" in table.notes[1]
    assert list(lines(table)) == ["grown", "static, as many as grown", "static, 1 a layer"]


def test_layers_of_a_static_model_are_even(make_run):
    config = {"model": {"layers": 2}}
    runs = [make_run("grown-seed0", config, heads=5)]
    runs += [make_run(f"static-{heads}-seed0", config, heads=2 * heads) for heads in (1, 2, 3)]
    (table,) = controls_tables(runs)
    assert lines(table)["static, as many as grown"]["heads"] == "6.0"


def test_ordinary_runs_and_controls_without_their_grown_run_get_no_table(make_run):
    assert controls_tables([make_run(), make_run("static-1-seed0")]) == []


@pytest.mark.parametrize(
    ("accuracies", "records", "expected"),
    [
        # The best is 4 (mean 0.82, standard error 0.01); 2 lies exactly one error below.
        ({1: [0.70, 0.72], 2: [0.80, 0.82], 4: [0.83, 0.81]}, None, (2, 4, 0.01)),
        ({1: [0.70, 0.72], 2: [0.79, 0.82], 4: [0.83, 0.81]}, None, (4, 4, 0.01)),
        ({1: [1.0, 1.0], 2: [1.0, 1.0]}, None, (1, 1, 0.0)),
        ({1: [0.74], 2: [0.75], 4: [0.76]}, 100, (1, 4, math.sqrt(0.76 * 0.24 / 100))),
        ({1: [0.74], 2: [0.75], 4: [0.76]}, 10000, (4, 4, math.sqrt(0.76 * 0.24 / 10000))),
        ({1: [0.9], 2: [0.5]}, None, (1, 1, 0.0)),
    ],
)
def test_the_smallest_count_within_one_standard_error_of_the_best(accuracies, records, expected):
    needed, best, error = needed_heads(accuracies, records)
    assert (needed, best, error) == (*expected[:2], pytest.approx(expected[2]))


def test_controls_of_two_parents_are_two_tables(make_run, tmp_path: Path):
    first, second = make_run("grown-seed0"), make_run("grown-seed1")
    (tmp_path / "other").mkdir()
    second.path.rename(tmp_path / "other" / "grown-seed1")
    tables = controls_tables([first, read_run(tmp_path / "other" / "grown-seed1")])
    assert [table.title for table in tables] == ["Controls: runs", "Controls: other"]
