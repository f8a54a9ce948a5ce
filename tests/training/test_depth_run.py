"""Whole runs whose model deepens: what is written, and that nothing changes before the first layer comes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from incrt_cli.config.load import load_config
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import Run, read_model, read_run
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train

BASE: dict[str, Any] = {
    "name": "deep",
    "baseline": False,
    "data": {"kind": "compose", "keys": 2, "values": 2, "examples": 400},
    "model": {"width": 16, "head_width": 4, "value_width": 4, "pooling": "first", "dropout": 0.1},
    "gate": {
        "variant": "paper",
        "calibration_batches": 2,
        "check_every": 4,
        "growth_fraction": 0.3,
        "max_heads": 3,
    },
    "depth": {"enabled": True, "patience": 2, "energy": 0.01, "productive": 0.01, "max_layers": 3},
    "train": {"epochs": 6.0, "batch_size": 32, "learning_rate": 0.003, "device": "cpu", "threads": 1},
}


def _train(folder: Path, *overrides: str) -> Run:
    return read_run(train(load_config(None, overrides, BASE), folder, Silent(), summarise_run))


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _train(tmp_path_factory.mktemp("runs") / "run")


def test_the_result_tells_the_layers_and_when_they_came(deep: Run) -> None:
    layers = [event for event in deep.events if event["kind"] == "layer"]
    result = deep.result
    assert (result["layers_start"], result["layers"]) == (1, 3)
    assert result["layer_steps"] == [event["step"] for event in layers]
    assert sum(result["heads_per_layer"]) == result["heads"] == 3 + result["births"] - result["prunes"]
    assert len(result["certificate"]) == 3 and result["deep_enough"] is False
    assert result["stopped_by_itself"] is False, "max_layers held it back"


def test_a_layers_line_holds_its_own_prediction_and_costs_nothing(deep: Run) -> None:
    for event in deep.events:
        if event["kind"] == "layer":
            assert event["loss_after"] == event["loss_before"]
            assert event["prediction"]["k_greedy"] >= 1
            assert event["lambda_max"] > event["theta"]
        else:
            assert event["prediction"] is None


def test_the_account_of_w_closes_in_every_layer(deep: Run) -> None:
    for certificate in deep.result["certificate"]:
        change = certificate["w_end"] - certificate["w_start"]
        assert change == pytest.approx(certificate["w_events"] + certificate["w_drift"])


def test_the_saved_model_has_the_grown_depth(deep: Run) -> None:
    state, architecture, _, _ = read_model(deep.path)
    assert architecture["heads"] == deep.result["heads_per_layer"]
    model = Classifier(Architecture(**{**architecture, "heads": tuple(architecture["heads"])}))
    model.load_state_dict(state)
    assert sum(parameter.numel() for parameter in model.parameters()) == deep.result["parameters"]


def test_the_report_shows_the_depth_and_compares_no_counts_that_were_not_predicted(deep: Run) -> None:
    report = (deep.path / "report.md").read_text()
    heads, steps = (", ".join(map(str, deep.result[key])) for key in ("heads_per_layer", "layer_steps"))
    assert f"| 1 | 3 | {heads} | {steps} | no |" in report
    markdown, csv = summarise_run(deep.path)
    row = dict(zip(*(line.split(",") for line in csv.splitlines()), strict=True))
    assert row["layers"] == "3" and row["ratio"] == "" and "## Depth" in markdown


@pytest.mark.parametrize("variant", ["paper", "significance"])
def test_until_a_layer_comes_the_run_is_the_one_without(variant: str, tmp_path: Path) -> None:
    settings = (f"gate.variant={variant}", "depth.patience=4", "train.epochs=3")
    deep = _train(tmp_path / "deep", *settings)
    flat = _train(tmp_path / "flat", "depth.enabled=false", *settings)
    first = min(deep.result["layer_steps"], default=deep.result["steps"])
    assert _before(deep, first) == _before(flat, first) != []
    assert flat.result["layers"] == 1 and flat.result["deep_enough"] is None
    assert "## Depth" not in (flat.path / "report.md").read_text()


def test_the_same_seed_gives_the_same_layers_and_weights(deep: Run, tmp_path: Path) -> None:
    again = _train(tmp_path / "again")
    first, second = read_model(deep.path)[0], read_model(again.path)[0]
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def _before(run: Run, step: int) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows if row["step"] <= step]
