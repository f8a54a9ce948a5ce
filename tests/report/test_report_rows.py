"""The flat rows behind `--json` and the CSV."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from incrt_cli.report.render import summarise_run
from incrt_cli.report.rows import rows_to_csv, run_row
from incrt_cli.rundir import RunWriter, read_run

ISSUE_KEYS = (
    "name", "status", "accuracy", "macro_f1", "heads", "k_law", "k_greedy", "k_bound", "ratio",
    "parameters", "steps", "seconds", "sufficient", "minimal",
)  # fmt: skip


def test_the_documented_keys_come_first_in_their_order(make_run):
    row = run_row(make_run())
    assert tuple(row)[: len(ISSUE_KEYS)] == ISSUE_KEYS
    assert [row[key] for key in ISSUE_KEYS] == [
        "demo", "complete", 0.9, 0.85, 12, 14.4, 11, 31, pytest.approx(12 / 14.4), 123456, 1052, 61.25,
        True, True,
    ]  # fmt: skip


def test_the_standard_error_is_the_binomial_one(make_run):
    assert run_row(make_run())["accuracy_se"] == pytest.approx(math.sqrt(0.9 * 0.1 / 400))
    assert run_row(make_run(test_records=0))["accuracy_se"] is None


def test_an_unfinished_run_has_its_prediction_and_nulls_never_zeros(make_run):
    row = run_row(make_run(finished=False))
    assert (row["status"], row["k_law"]) == ("incomplete", 14.4)
    unknown = set(ISSUE_KEYS) - {"name", "status", "k_law", "k_greedy", "k_bound"}
    assert {key: row[key] for key in unknown} == dict.fromkeys(unknown)


def test_a_static_model_has_no_ratio(make_run):
    run = make_run(growing=False)
    RunWriter(run.path).write_prediction({"layers": [], "k_law": None, "k_greedy": None, "k_bound": None})
    row = run_row(read_run(run.path))
    assert (row["heads"], row["k_law"], row["ratio"]) == (12, None, None)


@pytest.mark.parametrize("value", ["0.9", True, [0.9], {"x": 1}, math.inf, 10**400])
def test_a_figure_of_the_wrong_kind_is_null(make_run, value):
    odd = make_run(accuracy=value, unseen=value, baseline=value, per_class=value, certificate=value)
    assert run_row(odd)["accuracy"] is None
    assert run_row(odd)["unseen_accuracy"] is None
    assert "## Results" in summarise_run(odd.path)[0]


def test_the_seed_and_the_permutation_fall_back_on_the_config(make_run):
    permuted = {"seed": 5, "data": {"kind": "synthetic", "permute_labels": True}}
    row = run_row(make_run(config=permuted, finished=False))
    assert (row["seed"], row["permuted_labels"]) == (5, True)


def test_the_csv_has_a_line_per_run_and_empty_fields_for_the_unknown(make_run, foreign):
    rows = [run_row(make_run()), run_row(read_run(foreign))]
    read = list(csv.DictReader(io.StringIO(rows_to_csv(rows))))
    assert [line["name"] for line in read] == ["demo", "holiday"]
    assert float(read[0]["ratio"]) == 12 / 14.4
    assert (read[0]["sufficient"], read[0]["permuted_labels"]) == ("true", "false")
    assert (read[1]["status"], read[1]["accuracy"], read[1]["heads"]) == ("foreign", "", "")
    assert "config.yaml" in read[1]["problems"]


def test_a_run_can_be_summarised_before_its_result_is_on_disk(make_run):
    unfinished = make_run(finished=False)
    finished = json.loads((make_run().path / "result.json").read_text())
    markdown, table = summarise_run(unfinished.path, finished)
    assert "90.0 ± 1.5 (400)" in markdown
    assert next(csv.DictReader(io.StringIO(table)))["status"] == "complete"
