"""The tables of `incrt predict-heads`."""

from __future__ import annotations

import json

import pytest

from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.report.heads import head_rows, observed_table, prediction_tables
from incrt_cli.rundir import RunWriter, read_run
from incrt_cli.training.prepare import prediction_json


def test_predicted_and_observed_per_run(make_run, foreign):
    rows = head_rows([make_run(seed=2), make_run(finished=False), read_run(foreign)])
    assert [row["name"] for row in rows] == ["demo", "demo-2"]
    first = [rows[0][key] for key in ("seed", "k_law", "k_greedy", "k_bound", "observed", "ratio")]
    assert first == [2, 14.4, 11, 31, 12, pytest.approx(12 / 14.4)]
    assert (rows[1]["k_law"], rows[1]["observed"], rows[1]["ratio"]) == (14.4, None, None)
    table = observed_table([make_run()])
    columns = ("k_law", "k_greedy", "k_bound", "heads", "heads / k_law", "predicted first")
    assert table.columns[2:8] == columns
    assert table.rows[0][2:8] == ("14.4", "11", "31", "12", "0.83", "yes")


def test_the_time_of_the_prediction_is_held_against_the_first_step(make_run):
    honest = make_run()
    late = make_run()
    RunWriter(late.path).write_prediction(json.loads((late.path / "prediction.json").read_text()))
    unknown = make_run(first_step_at=None)
    zoneless = make_run(first_step_at="2026-01-01T00:00:00")
    runs = [honest, read_run(late.path), unknown, zoneless]
    assert [row["prediction_before_first_step"] for row in head_rows(runs)] == [True, False, None, None]


def test_one_prediction_shows_its_counts_and_both_ends_of_its_spectrum(make_run):
    counts, spectrum = prediction_tables(make_run().prediction or {})
    assert counts.rows == (("0", "2.5", "10", "4", "-3.5", "1", "14.4", "11", "31"),)
    assert spectrum.rows == (
        ("1", "4", "-3.5", "4.00"),
        ("2", "2", "-2.25", "2.00"),
        ("3", "0.5", "-0.75", "0.50"),
    )
    assert spectrum.notes == ("6 eigenvalues, 2 of them above θ = 1.",)


def test_a_fresh_prediction_shows_the_spectrum_that_a_stored_one_shows():
    fresh = prediction_json(
        (HeadPrediction(2.5, 10.0, 4.0, -3.5, 1.0, 14.4, 11, 31, (4.0, -3.5, 2.0, -2.25), 10),)
    )
    stored = json.loads(json.dumps(fresh))
    assert prediction_tables(fresh) == prediction_tables(stored)
    assert prediction_tables(fresh)[1].notes == ("4 eigenvalues, 2 of them above θ = 1.",)


def test_several_layers_have_a_total(make_run):
    prediction = make_run().prediction or {}
    layers = prediction["layers"] * 2
    tables = prediction_tables({"layers": layers, "k_law": 28.8, "k_greedy": 22, "k_bound": 62})
    assert tables[0].rows[-1] == ("all", "", "", "", "", "", "28.8", "22", "62")
    assert len(tables) == 1 + len(layers)


@pytest.mark.parametrize("prediction", [{}, {"layers": []}, {"layers": None, "k_law": None}])
def test_a_static_model_has_nothing_to_predict(prediction):
    (table,) = prediction_tables(prediction)
    assert table.rows == () and "static" in table.notes[0]
