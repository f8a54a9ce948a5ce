"""A run that was stopped anywhere and resumed is the run that nothing stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.errors import DivergedError, UserError
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import alone_in, find_checkpoint, read_run
from incrt_cli.training.interruption import StoppedError
from incrt_cli.training.progress import Silent, Status
from incrt_cli.training.resume import resume
from incrt_cli.training.run import train
from tests.training.undisturbed import differences

BASE: dict[str, Any] = {
    "name": "small",
    "baseline": False,
    "data": {"kind": "dial", "lookups": 3, "examples": 400},
    "model": {"width": 16, "head_width": 4, "value_width": 4, "dropout": 0.1},
    "gate": {
        "variant": "paper", "calibration_batches": 2, "check_every": 2, "threshold": "current",
        "growth_fraction": 0.3, "prune_ratio": 0.99, "prune_patience": 1, "prune_guard": None,
    },
    "train": {
        "epochs": 5.0, "batch_size": 32, "learning_rate": 0.01, "device": "cpu", "threads": 1,
        "checkpoint_every": 0.3, "checkpoints_kept": 100,
    },
}  # fmt: skip
SHIFT = ("data.shift.at=0.5", "data.shift.dial_seed=1")
DEPTH = ("depth.enabled=true", "depth.patience=2", "depth.energy=0.01", "depth.productive=0")
ASKING = (
    "gate.variant=significance", "gate.settle=4", "gate.critical_t=0.001", "gate.solved=0",
    "gate.progress=0.9", "gate.until=0.9",
)  # fmt: skip
CAPTURES = (
    "gate.attribution=0.2", "gate.threshold=initial", "gate.growth_fraction=0.1", "train.learning_rate=0.1",
)  # fmt: skip
# Settings, and the events that such a run must have for its resume to prove anything.
RUNS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "paper": ((*DEPTH, "gate.max_heads=3", "seed=1", *SHIFT), {"birth", "prune", "layer"}),
    "captures": ((*CAPTURES, "conditioning.method=svd"), {"birth", "capture"}),
    "significance": ((*ASKING, *DEPTH, "train.complexity=true"), {"birth", "layer"}),
    "notebook": (("gate.variant=notebook", "gate.confirm=false", "gate.threshold=initial"), {"birth"}),
    "static": (("gate.enabled=false", "model.heads=3", "model.layers=2"), set()),
    "bare": (("model.layer_norm=false", "conditioning.measure=true", "gate.growth_fraction=0.1"), {"birth"}),
}


class Ears(Silent):
    """Keeps what is said, and calls `at` after every step."""

    def __init__(self, at: Callable[[int], None] = lambda step: None) -> None:
        self.said: list[str] = []
        self._at = at

    def say(self, text: str) -> None:
        self.said.append(text)

    def step(self, status: Status) -> None:
        self._at(status.step)


def _train(folder: Path, *overrides: str, ears: Ears | None = None, signals: bool = False) -> Path:
    config = load_config(None, overrides, BASE)
    return train(config, folder, ears or Ears(), summarise_run, signals)


def _resume(folder: Path, *overrides: str, ears: Ears | None = None) -> Path:
    return resume(folder, overrides, ears or Ears(), summarise_run)


def _stopped_after(finished: Path, step: int, folder: Path) -> Path:
    """A copy of the finished run as a kill right after the checkpoint of `step` and some rows leaves it."""
    shutil.copytree(finished, folder)
    for name in ("result.json", "report.md", "report.csv"):
        (folder / name).unlink()
    for checkpoint in (folder / "checkpoints").iterdir():
        if int(checkpoint.name.removeprefix("step-")) > step:
            shutil.rmtree(checkpoint)
    return folder


def _steps(run: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in (run / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _train(tmp_path_factory.mktemp("runs") / "run", *RUNS["paper"][0])


@pytest.mark.parametrize("name", RUNS)
def test_a_resumed_run_is_bit_for_bit_the_undisturbed_one(tmp_path: Path, name: str) -> None:
    settings, events = RUNS[name]
    whole = _train(tmp_path / "whole", *settings)
    happened = [event["step"] for event in read_run(whole).events]
    assert events <= {event["kind"] for event in read_run(whole).events}
    steps = _steps(whole)
    assert not events or min(happened) <= steps[3] < max(happened)  # some before and some after
    for step in (steps[0], steps[3]):
        stopped = _stopped_after(whole, step, tmp_path / str(step))
        assert differences(whole, _resume(stopped)) == []


def test_stopping_again_and_again_changes_nothing(finished: Path, tmp_path: Path) -> None:
    folder, settings = tmp_path / "run", RUNS["paper"][0]
    for count in range(4):
        ears = Ears(
            lambda step, last=7 + 13 * count: os.kill(os.getpid(), signal.SIGTERM) if step == last else None
        )
        with pytest.raises(StoppedError):
            if count == 0:
                _train(folder, *settings, ears=ears, signals=True)
            else:
                resume(folder, (), ears, summarise_run, signals=True)
    assert differences(finished, _resume(folder)) == []
    resumes = read_run(folder).environment["resumes"]
    assert [entry["step"] for entry in resumes] == [7, 20, 33, 46]
    assert resumes[0]["libraries"]["torch"]


def test_a_run_without_a_checkpoint_starts_over(finished: Path, tmp_path: Path) -> None:
    stopped = _stopped_after(finished, 0, tmp_path / "run")
    (stopped / "checkpoints" / "step-3").mkdir()  # killed while it wrote its first
    ears = Ears()
    assert differences(finished, _resume(stopped, ears=ears)) == []
    assert any("step-3" in text and "never completed" in text for text in ears.said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_finishes_the_step_and_saves_it(tmp_path: Path, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    ears = Ears(lambda step: os.kill(os.getpid(), number) if step == 5 else None)
    with pytest.raises(
        StoppedError, match=rf"{number.name} after step 5 .*--resume {tmp_path}/run"
    ) as caught:
        _train(tmp_path / "run", "train.checkpoint_every=null", ears=ears, signals=True)
    assert caught.value.exit_code == 130 and "\n" not in str(caught.value)
    assert find_checkpoint(tmp_path / "run").checkpoint.step == 5
    assert signal.getsignal(number) is before


def test_a_second_signal_leaves_at_once_and_harms_nothing(tmp_path: Path) -> None:
    def twice(step: int) -> None:
        for _ in range(2 if step == 7 else 0):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _train(tmp_path / "run", ears=Ears(twice), signals=True)
    assert find_checkpoint(tmp_path / "run").checkpoint.step == _steps(tmp_path / "run")[-1] < 7
    whole = _train(tmp_path / "whole")
    assert differences(whole, _resume(tmp_path / "run")) == []


def test_a_request_to_save_saves_and_goes_on(tmp_path: Path) -> None:
    ears = Ears(lambda step: os.kill(os.getpid(), signal.SIGUSR1) if step == 5 else None)
    run = _train(tmp_path / "run", "train.checkpoint_every=null", ears=ears, signals=True)
    assert _steps(run) == [5] and "checkpoint of step 5 saved" in ears.said
    assert read_run(run).status == "complete"


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    run = _train(tmp_path / "run", "train.checkpoints_kept=2", "train.epochs=1", "train.checkpoint_every=0.3")
    last = read_run(run).result["steps"]
    assert len(_steps(run)) == 2 and _steps(run)[-1] == last


def test_settings_that_would_change_the_result_are_refused_by_name(finished: Path, tmp_path: Path) -> None:
    stopped = _stopped_after(finished, 20, tmp_path / "run")
    before = _contents(stopped)
    with pytest.raises(UserError, match="seed, train.epochs: would change the result.*train.threads"):
        _resume(stopped, "train.epochs=9", "seed=4", "train.threads=1")
    assert _contents(stopped) == before


def test_settings_that_do_not_are_taken(finished: Path, tmp_path: Path) -> None:
    stopped = _stopped_after(finished, 20, tmp_path / "run")
    free = (
        f"data.cache_dir={tmp_path}",
        "train.checkpoint_every=null",
        "train.threads=1",
        "train.device=auto",
    )
    assert differences(finished, _resume(stopped, *free)) == []
    assert read_run(stopped).environment["resumes"][0]["settings"] == list(free)


def test_a_config_that_was_edited_meanwhile_is_refused(finished: Path, tmp_path: Path) -> None:
    stopped = _stopped_after(finished, 20, tmp_path / "run")
    config = stopped / "config.yaml"
    config.write_text(config.read_text().replace("label_smoothing: 0.0", "label_smoothing: 0.1"))
    with pytest.raises(UserError, match="not what the run began with: train.label_smoothing"):
        _resume(stopped)


def test_other_libraries_are_warned_of(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, ears = _stopped_after(finished, 20, tmp_path / "run"), Ears()
    monkeypatch.setattr("incrt_cli.training.checkpoint.library_versions", lambda: {"torch": "9.9"})
    _resume(stopped, ears=ears)
    assert any("torch was" in text and "is 9.9" in text for text in ears.said)


def test_a_finished_run_says_so_and_stays_as_it_is(finished: Path) -> None:
    before, ears = _contents(finished), Ears()
    assert _resume(finished, ears=ears) == finished
    assert ears.said == [f"{finished} is finished: there is nothing to resume"]
    assert _contents(finished) == before


def test_rows_that_a_checkpoint_counts_on_must_be_there(finished: Path, tmp_path: Path) -> None:
    stopped = _stopped_after(finished, 20, tmp_path / "run")
    os.truncate(stopped / "metrics.jsonl", 10)
    with pytest.raises(UserError, match=r"no checkpoint .* is intact .*metrics.jsonl has 10 bytes"):
        _resume(stopped)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("model", "weights alone.*the run folder is"),
        ("model/model.safetensors", "weights alone.*the run folder is"),
        ("checkpoints/step-{last}", "is a checkpoint; give the run folder"),
        ("checkpoints", "no run folder.*the run folder is"),
        ("nowhere", "is no run folder of incrt"),
    ],
)
def test_what_is_no_run_folder_is_explained(finished: Path, place: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        _resume(finished / place.format(last=_steps(finished)[-1]))


def test_two_processes_do_not_train_one_run(finished: Path, tmp_path: Path) -> None:
    stopped = _stopped_after(finished, 20, tmp_path / "run")
    with alone_in(stopped), pytest.raises(UserError, match="another process is training this run"):
        _resume(stopped)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_divergence_keeps_checkpoints_and_names_its_records(tmp_path: Path) -> None:
    with pytest.raises(DivergedError):
        _train(tmp_path / "run", "train.learning_rate=1e30", "train.warmup_fraction=0")
    text = (tmp_path / "run" / "divergence.json").read_text()
    account = json.loads(text)
    assert "NaN" not in text and account["step"] >= 1 and account["last_good_step"] == 0
    assert account["last_good_checkpoint"] is None
    assert 0 < len(account["records"]) <= 32 and max(Counter(account["records"]).values()) == 1
    # It would diverge again, and says so again: a resume changes nothing.
    with pytest.raises(DivergedError):
        _resume(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "divergence.json").read_text()) == account


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
