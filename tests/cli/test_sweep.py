"""`incrt sweep` as a user meets it, with real training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incrt_cli.cli.main import run
from incrt_cli.rundir import read_run
from tests.cli.small import carried_out, table_of_again

GRID = ["sweep", "small.yaml", "seed=4,5", "gate.growth_fraction=0.3", "--workers", "2"]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder where two seeds were trained."""
    return carried_out(GRID, tmp_path_factory.mktemp("sweep"))


@pytest.fixture
def here(swept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(swept)
    return swept / "runs" / "small-sweep"


def test_every_cell_is_a_finished_run_as_train_makes_it(here: Path) -> None:
    runs = {path.name: read_run(path) for path in here.iterdir() if path.is_dir()}
    assert runs.keys() == {"seed=4", "seed=5"}
    assert {(found.status, found.problems) for found in runs.values()} == {("complete", ())}
    assert run(["train", "small.yaml", "seed=4", "--run-dir", "alone"]) == 0
    alone = read_run(Path("alone"))
    assert [row for row in alone.events or ()] == [row for row in runs["seed=4"].events or ()]
    assert alone.result["test_loss"] == runs["seed=4"].result["test_loss"]


def test_the_same_command_trains_nothing_again_and_report_has_its_table(here: Path, capsys) -> None:
    assert "| 2 of 2 | 0 |" in table_of_again(GRID, here, "## Sweep", capsys)


def test_a_cell_with_a_checkpoint_goes_on_from_it(here: Path) -> None:
    # As a kill after the last checkpoint would leave it.
    whole = read_run(here / "seed=5").result
    (here / "seed=5" / "result.json").unlink()
    assert run(GRID) == 0
    again = read_run(here / "seed=5")
    assert again.status == "complete" and again.result["test_loss"] == whole["test_loss"]
    assert json.dumps(again.environment).count('"resumes"') == 1


def test_a_dry_run_lists_the_folders_and_trains_nothing(here: Path, capsys) -> None:
    assert run(["sweep", "small.yaml", "seed=5..6", "--dry-run"]) == 0
    assert capsys.readouterr().out == f"{here / 'seed=5'}  (finished)\n{here / 'seed=6'}\n"


def test_failed_cells_are_named_at_the_end_with_an_exit_code(here: Path, capsys) -> None:
    assert run(["sweep", "small.yaml", "seed=4,5", "train.epochs=4"]) == 2
    said = capsys.readouterr()
    assert "## Sweep" in said.out
    assert "2 cell(s) failed" in said.err and "other settings (train.epochs)" in said.err


def test_workers_of_a_cluster_are_its_own_affair(here: Path, capsys) -> None:
    assert run([*GRID, "--ray", "10.0.0.1:6379"]) == 2
    assert "--workers" in capsys.readouterr().err
