"""A sweep on a real Ray cluster of this machine, where Ray is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.rundir import read_run
from incrt_cli.sweep.execute import run_sweep
from incrt_cli.sweep.plan import plan_sweep
from incrt_cli.sweep.ray_engine import RayEngine
from tests.sweep import trainers

REPOSITORY = str(Path(__file__).resolve().parents[2])
WITH_RAY = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed; pip install 'incrt[ray]'"
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "demo.yaml"
    path.write_text("name: demo\nbaseline: false\ndata:\n  kind: dial\ntrain:\n  device: cpu\n")
    return path


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ray's processes find this repository and its tests."""
    monkeypatch.setenv("PYTHONPATH", REPOSITORY)
    yield


@WITH_RAY
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray's own
def test_six_cells_finish_though_a_process_is_killed_in_one(config: Path, importable, tmp_path: Path) -> None:
    cells, parent = plan_sweep(config, ["seed=0..5"]), tmp_path / "all"
    engine = RayEngine("local", threads=1, workers=2)
    assert run_sweep(cells, parent, engine, trainers.killed_once, lambda _: None) == []
    results = [read_run(parent / cell.name).result for cell in cells]
    assert [result["repeated"] for result in results] == [False, False, True, False, False, False]
    assert {result["threads"] for result in results} == {"1"}


@WITH_RAY
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_cell_lost_on_every_attempt_and_one_that_fails_are_told_apart(config, importable, tmp_path) -> None:
    cells, parent = plan_sweep(config, ["seed=0..2"]), tmp_path / "all"
    engine = RayEngine("local", threads=1, workers=2)
    failures = run_sweep(cells, parent, engine, trainers.train, lambda _: None)
    found = {failure.name: str(failure.error) for failure in failures}
    assert found.keys() == {"seed=1", "seed=2"}
    assert found["seed=1"] == "loss is nan at step 3" and found["seed=2"].startswith("lost by Ray")


@WITH_RAY
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1", "ray://127.0.0.1:1"])
def test_an_address_where_no_cluster_answers_is_named(config: Path, tmp_path: Path, address: str) -> None:
    engine = RayEngine(address, threads=1, workers=1)
    with pytest.raises(UserError, match=f"--ray {address}: "):
        run_sweep(plan_sweep(config, ["seed=0,1"]), tmp_path, engine, trainers.train, lambda _: None)


def test_without_ray_one_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'incrt\[ray\]'"):
        RayEngine("local", threads=1, workers=1)
