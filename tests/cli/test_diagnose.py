"""`incrt diagnose` of a config and of a run, and what it says of input that it cannot use."""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from incrt_cli.cli.main import run
from incrt_cli.rundir import read_model, read_run
from tests.shipped import SMALL_RUN

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
DIAL = [
    str(CONFIGS / "dial.yaml"), "data.examples=600", "model.width=16", "gate.variant=paper",
    "train.threads=1", "train.device=cpu",
]  # fmt: skip
QUICK = ["--planes", "3", "--steps", "2", "--draws", "2"]


def reviews(path: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)
    rows = [
        f"{'fine' if label else 'dull'} {' '.join(f'w{chance.randrange(40)}' for _ in range(4))}\t{label}"
        for label in (chance.randrange(2) for _ in range(count))
    ]
    path.write_text("\n".join(["sentence\tlabel", *rows]) + "\n")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grown run on sentences, with its data beside it."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "data").mkdir()
    for name, count in (("train", 200), ("dev", 40)):
        reviews(folder / "data" / f"{name}.tsv", count, seed=count)
    settings = [
        *SMALL_RUN,
        "train.epochs=2",
        "data.validation_fraction=0.2",
        "gate.growth_fraction=0.3",
        "gate.variant=paper",
    ]
    command = ["train", str(CONFIGS / "sst2.yaml"), f"data.path={folder / 'data'}", *settings]
    assert run([*command, "--run-dir", str(folder / "run")]) == 0
    assert 1 < read_run(folder / "run").result["heads"] < 5
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """The same run, to be spoilt."""
    shutil.copytree(finished / "run", tmp_path / "run")
    return tmp_path / "run"


def figures(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["diagnose", *arguments, *QUICK, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_config_has_all_scores_of_both_kinds_of_planes(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, *DIAL)
    assert (found["trained"], found["heads"], found["captured"]) == (False, 1, 0)
    assert [(row["kind"], row["rank"]) for row in found["planes"]] == [
        (kind, rank) for kind in ("eigen", "random") for rank in (1, 2, 3)
    ]
    eigen = [row["lambda"] for row in found["planes"][:3]]
    assert eigen == sorted(eigen, reverse=True)
    assert all(row["lambda"] <= eigen[0] for row in found["planes"])
    assert all(row["ntk"] > 0.0 and row["decrease"] is not None for row in found["planes"])
    assert {(row["over"], row["n"]) for row in found["correlations"]} == {
        ("eigen", 3),
        ("random", 3),
        ("all", 6),
    }
    assert [row["score"] for row in found["means"]] == ["lambda", "ntk", "ntk_unbiased", "decrease"]


def test_the_same_command_gives_the_same_figures_and_another_seed_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = figures(capsys, *DIAL)
    assert figures(capsys, *DIAL) == first
    assert figures(capsys, *DIAL, "seed=1")["planes"] != first["planes"]


def test_a_run_is_diagnosed_as_it_was_saved(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, str(finished / "run"))
    recorded = read_run(finished / "run")
    assert found["trained"] and found["heads"] == recorded.result["heads"]
    assert found["captured"] == 2 * (found["heads"] - 1)
    assert f"the heads that own its {found['heads'] - 1} planes" in found["captured_from"]
    last = [row for row in recorded.metrics if row["kind"] == "evaluation"][-1]
    assert found["judged_on"] == last["split"] == "validation"
    assert found["loss"] == pytest.approx(last["loss"], rel=1e-4)
    weights = read_model(finished / "run")[0]
    assert found["width"] == weights["layers.0.bank.input_projection"].shape[2]


def test_asking_for_more_planes_than_are_left_says_how_many_there_are(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", str(finished / "run"), "--planes", "99", "--steps", "1", "--draws", "1"]) == 0
    out = capsys.readouterr().out
    left = 8 - (read_run(finished / "run").result["heads"] - 1)
    assert f"room for {left} planes of 99 asked for" in out and f"| eigen {left} |" in out
    assert f"| eigen {left + 1} |" not in out


def test_tables_are_shown_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", *DIAL, *QUICK, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    titles = [line[3:] for line in shown.splitlines() if line.startswith("## ")]
    assert titles == ["Three criteria", "Rank correlations", "Eigenplanes against random planes"]
    assert (tmp_path / "out" / "diagnosis.md").read_text() == shown
    rows = list(csv.DictReader((tmp_path / "out" / "diagnosis.csv").read_text().splitlines()))
    assert len(rows) == 6 and float(rows[0]["lambda"]) > 0.0


def test_data_that_are_gone_or_no_longer_the_same_are_named(
    finished: Path, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(finished / "data", other)
    assert run(["diagnose", str(copied), f"data.path={other}", *QUICK]) == 0  # moved, but the same
    reviews(other / "train.tsv", 200, seed=7)
    assert run(["diagnose", str(copied), f"data.path={other}", *QUICK]) == 2
    message = capsys.readouterr().err
    assert "train.tsv: changed since" in message and "dev.tsv: changed" not in message
    shutil.rmtree(other)
    assert run(["diagnose", str(copied), f"data.path={other}", *QUICK]) == 2
    assert str(other) in capsys.readouterr().err


def test_data_read_in_another_way_are_refused(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(copied), "data.max_tokens=40", *QUICK]) == 2
    assert "vocabulary differ" in capsys.readouterr().err


def test_events_that_do_not_add_up_leave_q_empty_and_say_so(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "events.jsonl").write_text("")
    found = figures(capsys, str(copied))
    assert found["captured"] == 0 and "does not account" in found["captured_from"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda run: shutil.rmtree(run / "model"), "cannot read the model file"),
        (lambda run: (run / "config.yaml").unlink(), "config.yaml is missing"),
        (lambda run: (run / "model" / "architecture.json").write_text('{"width": 3}'), "do not fit"),
    ],
)
def test_a_damaged_run_is_explained(
    copied: Path, spoil: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(copied)
    assert run(["diagnose", str(copied)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.yaml"], "no such file"),
        (["."], "expected a run folder or a config"),
        ([*DIAL, "--layer", "1"], "--layer 1: the model has 1 layer(s)"),
        ([*DIAL, "--planes", "2"], "--planes"),
        ([*DIAL, "--steps", "0"], "--steps"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["diagnose", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_of_a_run_only_data_and_training_can_be_set(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", str(finished / "run"), "model.width=8"]) == 2
    assert "model.width=8: of a finished run only" in capsys.readouterr().err


def test_a_shifted_run_is_judged_on_what_it_was_trained_on_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [
        "data.genomes=120", "data.validation_fraction=0.2", "train.epochs=1", "model.width=16",
        "model.head_width=4", "model.value_width=4", "train.threads=1", "train.device=cpu", "baseline=false",
    ]  # fmt: skip
    folder = tmp_path / "run"
    assert run(["train", str(CONFIGS / "cov2_shift.yaml"), *small, "--run-dir", str(folder)]) == 0
    capsys.readouterr()
    found = figures(capsys, str(folder))
    looks = [row for row in read_run(folder).metrics or () if row["kind"] == "evaluation"]
    last = {row["population"]: row["loss"] for row in looks[-2:]}
    assert found["loss"] == pytest.approx(last["after"], rel=1e-4)
    assert found["loss"] != pytest.approx(last["before"], rel=1e-4)


def test_an_environment_without_hashes_does_not_stop_it(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "environment.json").write_text('{"incrt": "0.1.0", "data_sha256": "gone"}')
    assert figures(capsys, str(copied))["trained"]
