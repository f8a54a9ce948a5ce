"""`incrt train --resume`: what a user types after a run was stopped."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import pytest
import yaml

from incrt_cli.cli.main import run
from incrt_cli.cli.progress import PlainReporter
from incrt_cli.rundir import read_run
from incrt_cli.training.progress import Status

CONFIG = {
    "name": "small",
    "baseline": False,
    "data": {"kind": "dial", "lookups": 1, "examples": 300},
    "model": {"width": 16, "head_width": 4, "value_width": 4},
    "gate": {"variant": "paper", "calibration_batches": 2, "check_every": 4},
    "train": {"epochs": 1.0, "device": "cpu", "threads": 1},
}


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The message of a run that SIGTERM reached in its third step, in `run`; it has said all that it says."""

    def step(self: PlainReporter, status: Status) -> None:
        if status.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(CONFIG))
    with monkeypatch.context() as patch:
        patch.setattr(PlainReporter, "step", step)
        assert run(["train", "small.yaml", "--run-dir", "run"]) == 130
    return capsys.readouterr().err


def test_the_line_that_a_stopped_run_ends_with_is_what_to_type(stopped: str, tmp_path: Path) -> None:
    assert stopped.count("\n") == 1 and stopped.startswith(
        "stopped by SIGTERM after step 3 of 8; to go on: incrt "
    )
    command = shlex.split(stopped.partition("to go on: incrt ")[2])
    assert run([*command, "train.threads=1"]) == 0
    finished = read_run(tmp_path / "run")
    assert finished.status == "complete" and finished.problems == ()


def test_a_finished_run_is_said_to_be_so(stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "--resume", "run"]) == 0
    capsys.readouterr()
    assert run(["train", "--resume", "run"]) == 0
    assert "is finished: there is nothing to resume" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.learning_rate=0.1"], "train.learning_rate: would change the result"),
        (["small.yaml"], "'small.yaml': expected KEY=VALUE"),
        (["train.threads=none"], "train.threads"),
        (["--dry-run"], "--resume goes with KEY=VALUE alone"),
        (["--run-dir", "other"], "--resume goes with KEY=VALUE alone"),
    ],
)
def test_what_a_resume_does_not_take_exits_2(
    stopped: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["train", "--resume", "run", *arguments]) == 2
    assert message in capsys.readouterr().err
