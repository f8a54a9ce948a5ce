"""`incrt bound` on a run, a checkpoint and a grid; complexity tracked along a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from incrt_cli.cli.main import run
from incrt_cli.report.complexity import NOTE
from incrt_cli.rundir import read_model, read_run
from tests.complexity.models import DEPTH, HEADS, WIDTH, bert_state, random_layers, write_checkpoint
from tests.shipped import SMALL_GENOMES, SMALL_RUN

CONFIG = str(Path(__file__).resolve().parents[2] / "configs" / "cov2_synthetic.yaml")
TRACKED = [*SMALL_RUN, *SMALL_GENOMES, "model.ffn_multiplier=2", "train.evaluate_every=0.25"]


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracked") / "run"
    assert run(["train", CONFIG, "--run-dir", str(folder), *TRACKED, "train.complexity=true"]) == 0
    return folder


def test_a_run_has_its_figures_as_json(tracked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bound", str(tracked), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["layers"], figures["model_width"]) == (1, 16)
    assert figures["heads"] == read_run(tracked).result["heads_per_layer"]
    assert [row["matrix"] for row in figures["rows"]] == ["QK", "V", "M_in", "M_out"]
    assert figures["b_adaptive"] == pytest.approx(1 + sum(row["contribution"] for row in figures["rows"]))
    assert figures["ratio"] == pytest.approx(figures["b_norm"] / figures["b_adaptive"])


def test_complexity_stands_beside_the_gap_at_every_evaluation(tracked: Path) -> None:
    metrics = read_run(tracked).metrics
    rows = {kind: [row for row in metrics if row["kind"] == kind] for kind in ("evaluation", "complexity")}
    assert len(rows["complexity"]) == len(rows["evaluation"]) > 2
    for row, evaluation in zip(rows["complexity"], rows["evaluation"], strict=True):
        assert (row["step"], row["heads"]) == (evaluation["step"], evaluation["heads"])
        assert row["validation_loss"] == evaluation["loss"]
        assert 0.0 <= row["train_accuracy"] <= 1.0 and row["train_loss"] > 0.0


def test_the_last_tracked_figures_are_those_of_the_saved_model(
    tracked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["bound", str(tracked), "--json"])
    figures = json.loads(capsys.readouterr().out)
    last = [row for row in read_run(tracked).metrics if row["kind"] == "complexity"][-1]
    assert (last["b_adaptive"], last["b_norm"]) == (figures["b_adaptive"], figures["b_norm"])


def test_tracking_changes_no_weight(tracked: Path, tmp_path: Path) -> None:
    assert run(["train", CONFIG, "--run-dir", str(tmp_path / "run"), *TRACKED]) == 0
    plain, followed = read_model(tmp_path / "run")[0], read_model(tracked)[0]
    assert all(torch.equal(plain[name], followed[name]) for name in plain)
    assert not any(row["kind"] == "complexity" for row in read_run(tmp_path / "run").metrics)


def test_the_report_of_a_tracked_run_has_its_table(tracked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(tracked)]) == 0
    section = capsys.readouterr().out.split("## Complexity along training")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert "| heads | B_adaptive | B_norm | train loss | validation loss | loss gap |" in lines[0]
    assert len(lines) - 2 == sum(row["kind"] == "complexity" for row in read_run(tracked).metrics)
    assert NOTE in section


def test_a_checkpoint_is_shown_with_what_the_figures_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = random_layers(DEPTH, WIDTH, HEADS, WIDTH // HEADS, 16, 5.0, seed=0)
    assert run(["bound", str(write_checkpoint(tmp_path, bert_state(layers, "bert.")))]) == 0
    out = capsys.readouterr().out
    assert NOTE in out
    assert f"| 0 | QK | {HEADS} | 0.00 | 0.00 |" in out
    assert sum(line.startswith(f"| {DEPTH - 1} |") for line in out.splitlines()) == 4


def test_a_grid_is_a_table_a_csv_and_a_drawing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bound", "--grid", "L=1,2,3", "H=64,128", "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "| B_adaptive | L | H = 64 |" in out and "| B_norm | H | all, an intercept each |" in out
    rows = list(csv.DictReader((tmp_path / "out" / "grid.csv").read_text().splitlines()))
    assert [(row["layers"], row["model_width"]) for row in rows][:2] == [("1", "64"), ("2", "64")]
    drawing = ElementTree.fromstring((tmp_path / "out" / "grid.svg").read_text())
    lines = [element for element in drawing if element.tag.endswith("polyline")]
    assert len(lines) == 2 * (2 + 3)  # two factors, a line for each width and for each depth
    assert {len(line.attrib["points"].split()) for line in lines} == {2, 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bound", "a", "b"], "one folder at a time, not 2"),
        (["bound", "a", "--out", "b"], "--out goes with --grid"),
        (["bound", "a"], "no such folder"),
        (["bound", "--grid", "a"], "--grid: 'a'"),
        (["bound"], "Missing argument"),
        (["bound", "--grid", "L=1", "H=64", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err
