"""`incrt train --controls` and what is made of its folder, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incrt_cli.cli.main import run
from incrt_cli.rundir import read_model, read_run
from tests.cli.small import carried_out, table_of_again

CONTROLS = ["train", "small.yaml", "--controls", "--seeds", "4"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder where every control of one seed was trained."""
    return carried_out(CONTROLS, tmp_path_factory.mktemp("controls"))


@pytest.fixture
def here(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    return trained / "runs" / "small-controls"


def test_every_control_is_a_finished_run_of_its_own(here: Path) -> None:
    runs = {path.name: read_run(path) for path in here.iterdir() if path.is_dir()}
    assert {"grown-seed4", "permuted-seed4", "frozen-seed4", "random-seed4", "notebook-seed4"} < set(runs)
    assert {(found.status, found.problems) for found in runs.values()} == {("complete", ())}
    grown = runs["grown-seed4"].result["heads"]
    assert grown > 1 and runs[f"static-{grown}-seed4"].result["heads"] == grown


def test_a_frozen_model_grows_and_learns_nothing(here: Path) -> None:
    frozen = read_run(here / "frozen-seed4")
    state, *_ = read_model(frozen.path)
    outputs = [tensor for name, tensor in state.items() if name.endswith("output_projection")]
    assert frozen.result["births"] > 0 and outputs
    # A newborn's output is zero, and only training could change that.
    assert all((tensor[1:] == 0).all() for tensor in outputs)
    assert len({row["loss"] for row in frozen.metrics if row["kind"] == "evaluation"}) == 1


def test_the_table_comes_from_the_folders_and_nothing_is_trained_again(here: Path, capsys) -> None:
    assert "| frozen (no training) |" in table_of_again(CONTROLS, here, "## Controls", capsys)


def test_a_dry_run_lists_the_folders_and_trains_nothing(here: Path, capsys) -> None:
    assert run(["train", "small.yaml", "--controls", "--seeds", "4..5", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert f"{here / 'grown-seed4'}  (finished)\n" in shown and f"{here / 'grown-seed5'}\n" in shown
    assert not (here / "grown-seed5").exists()


def test_failed_cells_are_named_at_the_end_with_an_exit_code(here: Path, capsys) -> None:
    assert run(["train", "small.yaml", "train.epochs=4", "--controls", "--seeds", "4"]) == 2
    said = capsys.readouterr()
    assert "## Controls" in said.out
    assert "cell(s) failed" in said.err and "other settings (train.epochs)" in said.err


def test_seeds_without_controls_are_refused(here: Path, capsys) -> None:
    assert run(["train", "small.yaml", "--seeds", "0..4"]) == 2
    assert "--seeds goes with --controls" in capsys.readouterr().err


def test_calibrating_takes_folders_of_runs(here: Path, capsys) -> None:
    assert run(["predict-heads", "--calibrate", str(here)]) == 2
    assert "only of one, dial, 3 look-ups" in capsys.readouterr().err
    assert run(["train", "small.yaml", "data.lookups=5", "--run-dir", "five"]) == 0
    capsys.readouterr()
    assert run(["predict-heads", "--calibrate", str(here), "five", "five", "--json"]) == 0
    calibration = json.loads(capsys.readouterr().out)
    assert [row["task"] for row in calibration["rows"]] == ["dial, 3 look-ups", "dial, 5 look-ups"]
