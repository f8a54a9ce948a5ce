"""Two processes train the model that one trains, and a lost one is noticed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from incrt_cli.cli.main import run
from incrt_cli.rundir import read_model, read_run
from incrt_cli.training.ranks import PeerError, Ranks
from tests.training.pair import SIZE, Pair
from tests.training.undisturbed import differences

CONFIG = {
    "name": "small",
    "baseline": False,
    "data": {"kind": "dial", "lookups": 3, "examples": 400},
    "model": {"width": 16, "head_width": 4, "value_width": 4},
    "gate": {"calibration_batches": 2, "check_every": 4},
    # Of 320 rows the last batch has one: the second process then has none.
    "train": {
        "epochs": 4.0, "batch_size": 29, "learning_rate": 0.003, "label_smoothing": 0.1, "device": "cpu",
        "threads": 1, "checkpoints_kept": 100,
    },
}  # fmt: skip
VARIANTS = {
    "paper": ["gate.variant=paper", "gate.growth_fraction=0.3", "gate.max_heads=4", "gate.prune_ratio=0.9"],
    "significance": [
        "gate.variant=significance", "gate.settle=5", "gate.critical_t=0.001", "gate.solved=0",
        # Two births and no more: where there is next to no demand, rounding decides which direction is best.
        "gate.progress=0.9", "gate.until=0.9", "gate.max_heads=3", "seed=2",
    ],
}  # fmt: skip
DROPOUT = [*VARIANTS["paper"], "model.dropout=0.2", "train.epochs=8"]
PIECES = [*VARIANTS["paper"], "train.accumulate=3", "train.recompute=true"]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config and, in `two`, the runs of two processes: all finished but one mistake."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    settings = {**VARIANTS, "dropout": DROPOUT, "pieces": PIECES}
    (folder / "two").mkdir()
    commands = [
        *(_train(folder, folder / "two" / name, *keys) for name, keys in settings.items()),
        _train(folder, folder / "two" / "mistaken", "nosuch=1"),
    ]
    with Pair(folder / "log", *commands) as pair:
        # All that the second one would say is said by the first, mistakes included.
        assert pair.wait() == [2] * SIZE, pair.said
    assert pair.said[1] == "" and pair.said[0].count("run folder:") == len(settings)
    assert pair.said[0].endswith("\ncommand line: nosuch: unknown key\n")
    return folder


def _train(home: Path, folder: Path, *settings: str) -> list[str]:
    return ["train", str(home / "config.yaml"), *settings, "--run-dir", str(folder)]


def _events(folder: Path) -> list[tuple[object, ...]]:
    return [
        tuple(event[key] for key in ("step", "kind", "layer", "head")) for event in read_run(folder).events
    ]


def _assert_same(one: Path, other: Path) -> None:
    """Same events and heads, weights within the tolerance."""
    assert _events(one) == _events(other)
    weights, others = read_model(one)[0], read_model(other)[0]
    assert weights.keys() == others.keys()
    for name, values in weights.items():
        torch.testing.assert_close(values, others[name], rtol=0.0, atol=TOLERANCE)


def _wait_for(found: Callable[[], bool]) -> None:
    limit = time.monotonic() + 180.0
    while not found():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_two_processes_train_the_model_of_one(home: Path, tmp_path: Path, variant: str) -> None:
    assert run(_train(home, tmp_path / "one", *VARIANTS[variant])) == 0
    two = home / "two" / variant
    assert [event[1] for event in _events(two)].count("birth") >= 2
    _assert_same(tmp_path / "one", two)
    loss, other = (read_run(folder).result["test_loss"] for folder in (tmp_path / "one", two))
    assert loss == pytest.approx(other, abs=TOLERANCE)
    assert json.loads((two / "environment.json").read_text())["processes"] == 2


@pytest.mark.slow
def test_two_processes_that_read_in_pieces_train_the_same_model(home: Path) -> None:
    """Of the last batch of an epoch, one row, a process has no piece."""
    _assert_same(home / "two" / "paper", home / "two" / "pieces")


@pytest.mark.slow
def test_one_process_goes_on_with_the_run_of_two(home: Path, tmp_path: Path) -> None:
    whole, stopped = home / "two" / "paper", tmp_path / "stopped"
    shutil.copytree(whole, stopped)
    (stopped / "result.json").unlink()
    steps = sorted(int(path.name.removeprefix("step-")) for path in (stopped / "checkpoints").iterdir())
    for step in steps[1:]:
        shutil.rmtree(stopped / "checkpoints" / f"step-{step}")
    assert min(_events(whole))[0] < steps[0] < max(_events(whole))[0]  # some events before, some after
    assert run(["train", "--resume", str(stopped)]) == 0
    _assert_same(whole, stopped)
    (resume,) = json.loads((stopped / "environment.json").read_text())["resumes"]
    assert resume["processes"] == 1


@pytest.mark.slow
def test_the_loss_of_one_process_ends_the_other_with_a_message_and_two_can_resume(
    home: Path, tmp_path: Path
) -> None:
    """With dropout: the streams of both processes go on where they were."""
    folder = tmp_path / "run"
    with Pair(tmp_path / "log", _train(home, folder, *DROPOUT)) as pair:
        _wait_for((folder / "checkpoints" / "step-12").exists)
        pair.processes[0].kill()
        assert pair.wait() == [-signal.SIGKILL, 2]
    (message,) = pair.said[1].splitlines()
    assert message.startswith("process 2 of 2 ends: another one has ended or no longer answers (")
    assert message.endswith(f"to go on: incrt train --resume {folder}")
    assert read_run(folder).status != "complete"
    with Pair(tmp_path / "resume", ["train", "--resume", str(folder)]) as pair:
        assert pair.wait() == [0, 0], pair.said
    assert differences(home / "two" / "dropout", folder) == []


@pytest.mark.slow
def test_a_signal_to_one_process_stops_both_with_a_checkpoint(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Pair(tmp_path / "log", _train(home, folder, *VARIANTS["paper"], "train.epochs=1000")) as pair:
        _wait_for((folder / "checkpoints" / "step-12").exists)
        pair.processes[1].send_signal(signal.SIGTERM)
        assert pair.wait() == [130, 130], pair.said
    (step,) = re.findall(r"stopped by SIGTERM after step (\d+) of 12000; to go on", pair.said[0])
    assert (folder / "checkpoints" / f"step-{step}").exists()


@pytest.mark.slow
def test_torchrun_starts_both(home: Path, tmp_path: Path) -> None:
    """How its agent passes signals on is torch's affair: both are stopped without it, above."""
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(SIZE), "-m", "incrt_cli"]
    command = _train(home, tmp_path / "run", *VARIANTS["paper"], "train.epochs=0.5")
    line = [sys.executable, "-m", *torchrun, *command]
    started = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert started.returncode == 0, started.stderr
    assert json.loads((tmp_path / "run" / "environment.json").read_text())["processes"] == SIZE


class _Beside(Ranks):
    """The first of two ranks, the other of which always comes with `other`."""

    other = (0, 0)

    def largest(self, *values: int) -> list[int]:
        return [max(pair) for pair in zip(values, self.other, strict=True)]


def test_processes_that_decide_differently_are_stopped() -> None:
    ranks = _Beside(0, 2)
    with pytest.raises(
        PeerError, match=r"process 1 of 2: .* different models \(grow in layer 0 at step 4 here"
    ):
        ranks.agree("grow in layer 0 at step 4")


@pytest.mark.parametrize("rows", [7, 2, 1])
def test_the_slices_of_a_step_are_its_rows(rows: int) -> None:
    slices = [Ranks(rank, 3).own(np.arange(rows)) for rank in range(3)]
    assert np.array_equal(np.concatenate(slices), np.arange(rows))
    assert max(map(len, slices)) - min(map(len, slices)) <= 1


def test_dropout_is_a_function_of_seed_step_and_rank() -> None:
    def draws(seed: int, step: int, rank: int) -> list[float]:
        Ranks(rank, 2).draw_own(seed, step)
        return torch.rand(4).tolist()

    places = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    assert len({tuple(draws(*place)) for place in places}) == len(places)
    assert draws(0, 1, 1) == draws(0, 1, 1)


def test_an_environment_that_is_not_torchruns_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    assert run(["train", "config.yaml"]) == 2
    assert "start several processes with torchrun" in capsys.readouterr().err
