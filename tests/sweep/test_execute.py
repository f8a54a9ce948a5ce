"""Cells in processes of their own: none costs another one, and the same command takes up what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from incrt_cli.errors import DivergedError, UserError
from incrt_cli.rundir import RunWriter, alone_in, read_run, read_sweep
from incrt_cli.sweep.engine import Job, Train
from incrt_cli.sweep.execute import Failure, run_sweep
from incrt_cli.sweep.local import LocalEngine
from incrt_cli.sweep.plan import Cell, plan_sweep
from tests.sweep import trainers

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = f"""
import pathlib, sys
sys.path.insert(0, {str(REPOSITORY)!r})
from incrt_cli.sweep.execute import run_sweep
from incrt_cli.sweep.local import LocalEngine
from incrt_cli.sweep.plan import plan_sweep
from tests.sweep import trainers
if __name__ == "__main__":
    path, parent = map(pathlib.Path, sys.argv[1:])
    run_sweep(plan_sweep(path, ["seed=3,4"]), parent, LocalEngine(1, 1), trainers.sleeps, print)
"""


class Sweep:
    """Five seeds in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.path, self.parent, self.said = folder / "demo.yaml", folder / "all", []
        self.path.write_text("name: demo\nbaseline: false\ndata:\n  kind: dial\n")

    def cells(self, *overrides: str) -> list[Cell]:
        return plan_sweep(self.path, overrides or ["seed=0..4"])

    def run(self, train: Train = trainers.train, *overrides: str, workers: int = 2) -> list[Failure]:
        self.said: list[str] = []
        return run_sweep(
            self.cells(*overrides), self.parent, LocalEngine(workers, 3), train, self.said.append
        )

    def finished(self) -> set[str]:
        folders = [path for path in self.parent.iterdir() if path.is_dir()]
        return {path.name for path in folders if read_run(path).status == "complete"}


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return Sweep(tmp_path)


def test_a_failed_and_a_killed_cell_cost_no_other_and_the_same_command_finishes_them(sweep: Sweep) -> None:
    failures = {failure.name: failure.error for failure in sweep.run()}
    assert failures.keys() == {"seed=1", "seed=2"} and sweep.finished() == {"seed=0", "seed=3", "seed=4"}
    assert (
        isinstance(failures["seed=1"], DivergedError) and str(failures["seed=1"]) == "loss is nan at step 3"
    )
    assert isinstance(failures["seed=2"], UserError) and "killed by SIGKILL" in str(failures["seed=2"])
    assert read_sweep(sweep.parent).failures == {name: str(error) for name, error in failures.items()}

    kept = {name: (sweep.parent / name / "result.json").stat().st_mtime_ns for name in sweep.finished()}
    (sweep.parent / "healed").touch()
    assert sweep.run() == [] and "5 cells, 3 of them finished" in sweep.said[0]
    assert sorted(line.split("] ")[1] for line in sweep.said[1:]) == ["seed=1 finished", "seed=2 finished"]
    assert kept == {name: (sweep.parent / name / "result.json").stat().st_mtime_ns for name in kept}
    assert read_sweep(sweep.parent).failures == {} and len(sweep.finished()) == 5


def test_cells_get_their_share_of_threads_before_anything_is_loaded(sweep: Sweep, monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert sweep.run(trainers.records_threads, "seed=0,1") == []
    assert read_run(sweep.parent / "seed=0").result["threads"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_a_bug_comes_back_with_the_traceback_of_the_process_it_happened_in(sweep: Sweep) -> None:
    failure, _ = sweep.run(trainers.bug, "seed=0,1")
    assert isinstance(failure.error, ZeroDivisionError)
    assert "in bug" in str(failure.error.__cause__)


def test_a_later_grid_in_the_same_folder_keeps_the_account_of_the_earlier_one(sweep: Sweep) -> None:
    sweep.run(trainers.train, "seed=3,4")
    sweep.run(trainers.train, "seed=4,5")
    assert list(read_sweep(sweep.parent).cells) == ["seed=3", "seed=4", "seed=5"]


def test_a_cell_that_another_process_trains_is_not_removed(sweep: Sweep) -> None:
    (cell,) = [cell for cell in sweep.cells() if cell.name == "seed=3"]
    trainers.begin(cell.config, sweep.parent / "seed=3")
    with alone_in(sweep.parent / "seed=3"):
        (failure,) = sweep.run(trainers.train, "seed=3,4")
    assert "another process is training" in str(failure.error)
    assert (sweep.parent / "seed=3" / "config.yaml").exists() and sweep.finished() == {"seed=4"}


def test_a_cell_killed_before_its_config_was_written_is_begun_anew(sweep: Sweep) -> None:
    RunWriter.create(sweep.parent / "seed=3", "demo")
    assert sweep.run(trainers.train, "seed=3,4") == []


def test_an_interruption_stops_the_running_cells(sweep: Sweep) -> None:
    started = sweep.parent / "seed=3" / "pid"
    engine = LocalEngine(1, 1).run([job for job in _jobs(sweep) if job.name == "seed=3"], trainers.sleeps)
    # Tests that a shell started in the background were told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    Thread(target=_interrupt_when, args=(started,), daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(engine)
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_a_killed_command_takes_its_cells_with_it(sweep: Sweep) -> None:
    started = sweep.parent / "seed=3" / "pid"
    parent = subprocess.Popen([sys.executable, "-c", COMMAND, str(sweep.path), str(sweep.parent)])
    _wait_for(started)
    parent.kill()
    parent.wait()
    limit = time.monotonic() + 180
    while _alive(int(started.read_text())):
        assert time.monotonic() < limit
        time.sleep(0.02)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # Where nobody collects orphans, one that has ended stays as a zombie.
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(") ")[2][0] != "Z"


def _jobs(sweep: Sweep) -> list[Job]:
    return [Job(cell.name, cell.config, sweep.parent / cell.name) for cell in sweep.cells()]


def _interrupt_when(path: Path) -> None:
    _wait_for(path)
    os.kill(os.getpid(), signal.SIGINT)


def _wait_for(path: Path) -> None:
    while not (path.exists() and path.read_text()):
        time.sleep(0.02)
