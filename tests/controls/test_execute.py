"""Cells are trained once, and a cell that failed is taken up again alone."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from incrt_cli.config.load import dump_config, load_config
from incrt_cli.config.schema import Config
from incrt_cli.controls.execute import Failure, run_controls
from incrt_cli.errors import DivergedError, UserError
from incrt_cli.rundir import RunWriter, read_run

CONFIG = load_config(None, (), {"name": "demo", "data": {"kind": "synthetic"}})
CELLS = 6 + 2  # a grown run of two heads: six that grow, static models with one and two heads


class Trainer:
    """Writes what a run of two heads would write; fails in the folders named in `broken`."""

    def __init__(self) -> None:
        self.trained: list[str] = []
        self.broken: dict[str, BaseException] = {}

    def __call__(self, config: Config, folder: Path) -> None:
        self.trained.append(folder.name)
        run = RunWriter.create(folder, config.name)
        run.write_config(dump_config(config))
        if folder.name in self.broken:
            raise self.broken[folder.name]
        heads = 2 if config.gate.enabled else config.model.heads
        run.write_result({"status": "complete", "heads": heads})


@pytest.fixture
def trainer() -> Trainer:
    return Trainer()


@pytest.fixture
def execute(tmp_path: Path, trainer: Trainer) -> Callable[..., list[Failure]]:
    """Runs all controls of one seed in `tmp_path`/all, anew with an empty account of what was trained."""

    def run(config: Config = CONFIG) -> list[Failure]:
        trainer.trained.clear()
        return run_controls(config, [0], tmp_path / "all", trainer, lambda _: None)

    return run


def test_a_finished_cell_is_not_trained_again(execute, trainer: Trainer) -> None:
    assert execute() == [] and len(trainer.trained) == CELLS and trainer.trained[-1] == "static-2-seed0"
    assert execute() == [] and trainer.trained == []


@pytest.mark.parametrize("error", [DivergedError("at step 3"), ValueError("a bug"), UserError("no space")])
def test_a_failed_cell_costs_no_other_and_is_trained_again_alone(execute, trainer: Trainer, error) -> None:
    trainer.broken = {"random-seed0": error}
    (failure,) = execute()
    assert (str(failure.cell.name), failure.error) == ("random-seed0", error)
    assert len(trainer.trained) == CELLS
    trainer.broken = {}
    assert execute() == [] and trainer.trained == ["random-seed0"]


def test_static_models_wait_for_a_grown_run_that_failed(execute, trainer: Trainer) -> None:
    trainer.broken = {"grown-seed0": DivergedError("at step 3")}
    execute()
    assert "static-1-seed0" in trainer.trained and "static-2-seed0" not in trainer.trained
    trainer.broken = {}
    assert execute() == [] and trainer.trained == ["grown-seed0", "static-2-seed0"]


def test_an_interruption_stops_everything_and_is_taken_up_there(execute, trainer: Trainer) -> None:
    trainer.broken = {"frozen-seed0": KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        execute()
    trainer.broken = {}
    assert execute() == [] and trainer.trained[0] == "frozen-seed0"


def test_a_run_killed_before_its_config_was_written_is_replaced(execute, trainer, tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "all" / "grown-seed0", "demo")
    assert execute() == []


def test_a_finished_run_with_other_settings_is_named_and_kept(execute, trainer, tmp_path: Path) -> None:
    execute()
    failures = execute(load_config(None, ["train.epochs=3"], CONFIG.model_dump()))
    assert trainer.trained == [] and len(failures) == CELLS
    folder = tmp_path / "all" / "grown-seed0"
    assert str(failures[0].error).startswith(f"{folder} is a finished run with other settings (train.epochs)")
    assert read_run(folder).status == "complete"


def test_somebody_elses_folder_is_named_and_kept(execute, tmp_path: Path) -> None:
    taken = tmp_path / "all" / "permuted-seed0"
    taken.mkdir(parents=True)
    (taken / "thesis.tex").write_text("kept")
    (failure,) = execute()
    assert str(taken) in str(failure.error) and (taken / "thesis.tex").exists()


def test_two_commands_at_once_do_not_take_each_others_cells(execute, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    with open(tmp_path / "all" / ".lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another incrt"):
            execute()


def test_a_file_in_place_of_the_folder_is_named(execute, tmp_path: Path) -> None:
    (tmp_path / "all").write_text("")
    with pytest.raises(UserError, match=str(tmp_path / "all")):
        execute()
