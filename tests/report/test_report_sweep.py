"""The cells of a sweep, a line for every setting, from fabricated run folders."""

from __future__ import annotations

import pytest

from incrt_cli.report.render import report_tables, summarise_run
from incrt_cli.report.sweep import sweep_tables
from incrt_cli.rundir import SweepAccount, read_run, write_sweep

CELLS = {
    f"{key}={value},seed={seed}": {key: value, "seed": str(seed)}
    for key, value in (("model.width", "32"), ("model.width", "64"))
    for seed in (0, 1)
}


@pytest.fixture
def swept(make_run, tmp_path):
    """Two widths and two seeds; of the wider ones one diverged and left nothing."""
    runs = [
        make_run("model.width=32,seed=0", seed=0, heads=4, accuracy=0.90),
        make_run("model.width=32,seed=1", seed=1, heads=2, accuracy=0.94),
        make_run("model.width=64,seed=0", seed=0, heads=7, accuracy=0.80),
    ]
    write_sweep(tmp_path / "runs", SweepAccount(CELLS, {"model.width=64,seed=1": "diverged"}))
    return runs


def test_a_setting_is_one_line_over_its_seeds_with_what_is_missing(swept) -> None:
    (table,) = sweep_tables(swept)
    assert table.title == "Sweep: runs" and table.columns[0] == "model.width"
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert first == {
        "model.width": "32", "heads": "3.0 ± 1.4", "accuracy %": "92.0 ± 2.8", "k_law": "14.4 ± 0.0",
        "k_greedy": "11.0 ± 0.0", "parameters": "123,456 ± 0", "seconds": "61.2 ± 0.0", "runs": "2 of 2",
        "failed": "0",
    }  # fmt: skip
    # One run has a mean and no deviation.
    assert (second["heads"], second["runs"], second["failed"]) == ("7.0", "1 of 2", "1")


def test_a_setting_of_which_nothing_finished_has_no_figures_rather_than_zeros(swept, tmp_path) -> None:
    cells = {**CELLS, "model.width=128,seed=0": {"model.width": "128", "seed": "0"}}
    write_sweep(tmp_path / "runs", SweepAccount(cells, {}))
    assert sweep_tables(swept)[0].rows[-1] == ("128", *["–"] * 6, "0 of 1", "0")


def test_an_unfinished_run_is_counted_as_planned(swept, make_run) -> None:
    runs = [*swept, make_run("model.width=64,seed=1", finished=False)]
    assert sweep_tables(runs)[0].rows[1][-2:] == ("1 of 2", "1")


def test_seeds_alone_are_one_setting(swept, tmp_path) -> None:
    cells = {run.name: {"seed": str(number)} for number, run in enumerate(swept)}
    write_sweep(tmp_path / "runs", SweepAccount(cells, {}))
    (table,) = sweep_tables(swept)
    assert table.rows[0][:2] == ("all", "4.3 ± 2.5") and table.rows[0][-2:] == ("3 of 3", "0")


def test_a_part_of_a_sweep_has_no_table_and_neither_has_a_cell_of_its_own(swept) -> None:
    assert sweep_tables(swept[:2]) == []
    markdown, _ = summarise_run(swept[0].path)
    assert "Sweep" not in markdown
    assert report_tables(swept)[0].title == "Sweep: runs"


@pytest.mark.parametrize("content", ["", "[1]", '{"cells": [3]}', '{"cells": {"a": 3}}', '{"cells'])
def test_an_account_that_is_none_of_ours_gives_no_table(swept, tmp_path, content) -> None:
    (tmp_path / "runs" / "sweep.json").write_text(content)
    assert sweep_tables([read_run(run.path) for run in swept]) == []
