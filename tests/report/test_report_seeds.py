"""Runs that differ only in the seed, with true and with permuted labels."""

from __future__ import annotations

import statistics

import pytest

from incrt_cli.report.seeds import group_by_config, permuted_table, seeds_table
from incrt_cli.rundir import read_run


def permuted_config(seed: int) -> dict:
    return {"seed": seed, "data": {"kind": "synthetic", "permute_labels": True}}


@pytest.fixture
def family(make_run):
    """Three seeds with true labels, two with permuted ones, and one run of another config."""
    runs = [
        make_run("true", seed=seed, heads=heads, accuracy=accuracy)
        for seed, heads, accuracy in [(0, 32, 0.758), (1, 27, 0.756), (2, 25, 0.757)]
    ]
    for seed, heads in [(0, 15), (1, 18)]:
        config = permuted_config(seed) | {"name": "other-name"}
        control = {"permuted_labels": True, "accuracy": 0.25, "heads": heads}
        runs.append(make_run("permuted", config=config, seed=seed, **control))
    return [*runs, make_run("wider", config={"model": {"width": 256}}, heads=36)]


def test_configs_are_the_same_apart_from_name_seed_and_permutation(family):
    groups = group_by_config(family)
    assert [(len(group.true), len(group.permuted)) for group in groups] == [(3, 2), (1, 0)]


def test_mean_and_sample_deviation_over_seeds(family):
    table = seeds_table(group_by_config(family))
    assert table is not None
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["labels"], row["seeds"]) for row in rows] == [("true", "3"), ("permuted", "2")]
    assert rows[0]["heads"] == f"{statistics.mean([32, 27, 25]):.1f} ± {statistics.stdev([32, 27, 25]):.1f}"
    assert rows[0]["accuracy %"] == "75.7 ± 0.1"
    assert rows[0]["runs"] == "true, true-2, true-3"


def test_true_and_permuted_labels_stand_side_by_side(family):
    table = permuted_table(group_by_config(family))
    assert table is not None and len(table.rows) == 1
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["seeds, true / permuted"] == "3 / 2"
    assert (row["heads true"], row["heads permuted"]) == ("28.0 ± 3.6", "16.5 ± 2.1")
    assert (row["accuracy % permuted"], row["majority class %"]) == ("25.0 ± 0.0", "25.0 ± 0.0")


def test_one_run_of_each_is_shown_without_a_deviation(make_run):
    runs = [make_run(heads=30), make_run(config=permuted_config(0), permuted_labels=True, heads=20)]
    groups = group_by_config(runs)
    assert seeds_table(groups) is None
    table = permuted_table(groups)
    assert table is not None and table.rows[0][5:7] == ("30.0", "20.0")


def test_a_repeated_seed_counts_once_by_its_latest_run(make_run):
    first, again = make_run(heads=10), make_run(heads=12)
    groups = group_by_config([again, first])
    assert [row["heads"] for row in groups[0].true] == [12]
    assert seeds_table(groups) is None


def test_a_run_without_a_config_is_in_no_group(make_run):
    run = make_run()
    (run.path / "config.yaml").unlink()
    assert group_by_config([read_run(run.path)]) == []
