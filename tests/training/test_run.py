"""Whole runs on a small synthetic population: what is written, when, and that it repeats bit for bit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from incrt_cli.config.load import load_config
from incrt_cli.errors import DivergedError, UserError
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import read_model, read_run
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train

BASE: dict[str, Any] = {
    "name": "small",
    "data": {
        "kind": "synthetic", "variants": 3, "genomes": 180, "genome_length": 600, "substitutions": 20,
        "max_tokens": 128,
    },
    "model": {"width": 16, "head_width": 4, "value_width": 4, "dropout": 0.1},
    "gate": {"variant": "paper", "calibration_batches": 4, "check_every": 4, "growth_fraction": 0.2},
    "train": {"epochs": 6.0, "batch_size": 16, "learning_rate": 0.01, "device": "cpu", "threads": 1},
}  # fmt: skip
FILES = {
    "config.yaml", "environment.json", "data.json", "prediction.json", "events.jsonl", "metrics.jsonl",
    "checkpoints", "model", "report.md", "report.csv", "result.json",
}  # fmt: skip


def _train(folder: Path, *overrides: str) -> Path:
    return train(load_config(None, overrides, BASE), folder, Silent(), summarise_run)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _train(tmp_path_factory.mktemp("runs") / "run")


def test_the_run_folder_is_complete(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} == FILES
    run = read_run(finished)
    assert run.status == "complete" and run.problems == ()
    assert run.result["births"] == sum(event["kind"] == "birth" for event in run.events) > 0
    assert run.result["heads"] == 1 + run.result["births"] - run.result["prunes"]
    assert run.result["parameters"] > run.result["parameters_start"]


def test_the_prediction_is_older_than_the_first_step(finished: Path) -> None:
    run = read_run(finished)
    assert run.prediction["written_at"] < run.result["first_step_at"]


def test_every_event_lowered_w_and_a_birth_has_the_loss_of_its_step(finished: Path) -> None:
    for event in read_run(finished).events:
        assert event["delta_w"] < 0.0
        if event["kind"] == "birth":
            assert event["loss_after"] == event["loss_before"] > 0.0
            assert event["lambda_max"] > event["theta"]


def test_the_account_of_w_closes(finished: Path) -> None:
    (certificate,) = read_run(finished).result["certificate"]
    change = certificate["w_end"] - certificate["w_start"]
    assert change == pytest.approx(certificate["w_events"] + certificate["w_drift"])


def test_an_evaluation_comes_before_training(finished: Path) -> None:
    rows = [row for row in read_run(finished).metrics if row["kind"] == "evaluation"]
    assert rows[0]["step"] == 0 and rows[0]["train_loss"] is None
    assert rows[0]["loss"] == pytest.approx(math.log(3), abs=0.5)
    assert rows[-1]["step"] == read_run(finished).result["steps"]
    assert {row["split"] for row in rows} == {"validation"}


def test_the_saved_model_has_the_grown_shape(finished: Path) -> None:
    state, architecture, labels, vocabulary = read_model(finished)
    heads = read_run(finished).result["heads"]
    assert state["layers.0.bank.input_projection"].shape == (heads, 12, 16)
    assert architecture["heads"] == [heads] and len(labels) == 3 and vocabulary["k"] == 6


def test_the_same_seed_gives_the_same_weights_metrics_and_events(finished: Path, tmp_path: Path) -> None:
    again = _train(tmp_path / "again")
    first, second = read_model(finished)[0], read_model(again)[0]
    assert all(torch.equal(first[name], second[name]) for name in first)
    for name in ("events.jsonl", "metrics.jsonl"):
        assert _without_times(again / name) == _without_times(finished / name)
    other = _train(tmp_path / "other", "seed=1")
    assert not torch.equal(read_model(other)[0]["readout.weight"], first["readout.weight"])


def test_a_static_model_keeps_its_heads_and_has_no_certificate(tmp_path: Path) -> None:
    run = read_run(_train(tmp_path / "run", "gate.enabled=false", "model.heads=3", "train.epochs=0.5"))
    assert run.result["heads"] == 3 and run.result["certificate"] == [] and run.result["sufficient"] is None
    assert run.prediction["k_law"] is None and run.status == "complete"


def test_a_gate_that_asks_the_task_grows_the_same_however_often_it_looks(tmp_path: Path) -> None:
    asking = (
        "gate.variant=significance", "gate.settle=4", "gate.critical_t=0.001", "gate.solved=0",
        "gate.progress=0.9", "gate.until=0.9",
    )  # fmt: skip
    runs = [_train(tmp_path / every, *asking, f"gate.check_every={every}") for every in ("3", "50")]
    seldom = read_run(runs[1])
    assert read_run(runs[0]).events == seldom.events and len(seldom.events) > 1
    first, second = (read_model(run)[0] for run in runs)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_growth_closes_at_its_share_of_the_run(tmp_path: Path) -> None:
    overrides = ("gate.variant=significance", "gate.settle=2", "gate.until=0.5")
    run = read_run(_train(tmp_path / "run", *overrides))
    looks = [row["step"] for row in run.metrics if row["kind"] == "check"]
    # Looks are some steps apart by then, so the last comes before the end.
    assert run.result["steps"] // 3 < max(looks) <= run.result["steps"] // 2
    assert run.prediction["k_law"] > 0


def test_permuted_labels_cannot_be_learnt(tmp_path: Path) -> None:
    run = read_run(_train(tmp_path / "run", "data.permute_labels=true"))
    records, accuracy = run.result["test_records"], run.result["accuracy"]
    assert abs(accuracy - 1 / 3) <= 3 * (1 / 3 * 2 / 3 / records) ** 0.5
    assert run.result["permuted_labels"] is True


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_divergence_keeps_the_last_good_model_and_writes_no_result(tmp_path: Path) -> None:
    with pytest.raises(DivergedError, match=r"diverged at step \d+.*learning_rate"):
        _train(tmp_path / "run", "train.learning_rate=1e30")
    state = read_model(tmp_path / "run")[0]
    # Finite is not good enough: weights of 1e30 are finite, and their loss is not a number.
    assert all(tensor.abs().max() < 100.0 for tensor in state.values())
    assert read_run(tmp_path / "run").status == "incomplete"


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("growing", ["true", "false"])
def test_divergence_in_the_last_step_is_no_finished_run(tmp_path: Path, growing: str) -> None:
    one_step = ("train.epochs=1e-6", "train.warmup_fraction=0", "train.learning_rate=1e37")
    with pytest.raises(DivergedError, match="step 1.*the model of step 0"):
        _train(tmp_path / "run", *one_step, f"gate.enabled={growing}")
    assert read_run(tmp_path / "run").status == "incomplete"


def test_a_run_without_a_test_split_has_no_scores(tmp_path: Path) -> None:
    run = read_run(_train(tmp_path / "run", "data.test_fraction=0", "train.epochs=0.5"))
    assert run.status == "complete" and run.result["test_records"] == 0
    assert run.result["accuracy"] is None and run.result["baseline"] is None


def test_unusable_data_leaves_no_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="max_tokens"):
        _train(tmp_path / "run", "data.max_tokens=8")
    assert not (tmp_path / "run").exists()


def _without_times(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]
