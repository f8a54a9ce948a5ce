"""`incrt bound` on a run, a checkpoint and a grid; complexity tracked along a run."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from incrt_cli.cli.main import run
from incrt_cli.report.complexity import NOTE
from incrt_cli.report.complexity_figure import complexity_svg
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


def test_the_report_draws_factors_and_gap_against_heads(
    tracked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(tracked), "--out", str(tmp_path / "out")]) == 0
    assert "complexity.svg" in capsys.readouterr().err
    drawing = ElementTree.fromstring((tmp_path / "out" / "complexity.svg").read_text())
    marks = [element for element in drawing if element.tag.endswith("circle")]
    rows = [row for row in read_run(tracked).metrics if row["kind"] == "complexity"]
    assert len(marks) == 3 * len(rows)  # both factors and the gap
    filled = [mark for mark in marks if mark.attrib["fill"] != "white"][: len(rows)]
    heights = [-float(mark.attrib["cy"]) for mark in filled]
    factors = [row["b_adaptive"] for row in rows]
    assert sorted(range(len(rows)), key=heights.__getitem__) == sorted(
        range(len(rows)), key=factors.__getitem__
    )


def test_runs_that_tracked_nothing_draw_nothing(tracked: Path) -> None:
    run_ = read_run(tracked)
    assert complexity_svg([run_, replace(run_, name="plain", metrics=())]) == complexity_svg([run_])
    assert complexity_svg([replace(run_, metrics=())]) is None
    assert complexity_svg([replace(run_, name=str(i)) for i in range(7)]) is None


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


def test_trained_models_stand_beside_the_grid_and_outside_its_exponents(
    tracked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = random_layers(DEPTH, WIDTH, HEADS, WIDTH // HEADS, 16, 5.0, seed=0)
    folders = [str(tracked), str(write_checkpoint(tmp_path / "L=3", bert_state(layers, "bert.")))]
    command = ["bound", "--grid", "L=1,2", "H=64,128", "--json"]
    figures = []
    for arguments in (
        command,
        [*command, *folders, "--out", str(tmp_path / "out")],
        ["bound", folders[1], "--json"],
    ):
        assert run(arguments) == 0
        figures.append(json.loads(capsys.readouterr().out))
    grid, both, alone = figures
    assert both["exponents"] == grid["exponents"] and both["points"][:4] == grid["points"]
    ours, published = both["points"][4:]
    assert (ours["trained"], ours["heads"]) == ("run", read_run(tracked).result["heads"])
    assert (published["layers"], published["model_width"], published["heads"]) == (
        DEPTH,
        WIDTH,
        DEPTH * HEADS,
    )
    assert published["b_adaptive"] == alone["b_adaptive"] and published["trained"] == "L=3"
    assert (tmp_path / "out" / "grid.svg").read_text().count("<circle") == 2 * 2 * 2
    assert run([*command[:-1], *folders]) == 0
    assert f"| L=3 | {DEPTH} | {WIDTH} | {DEPTH * HEADS} |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bound", "a", "b"], "one folder at a time, not 2"),
        (["bound", "a", "--out", "b"], "--out goes with --grid"),
        (["bound", "a"], "no such folder"),
        (["bound", "--grid", "a"], "--grid: L and H missing"),
        (["bound", "--grid", "L=1", "H=64", "a"], "a: no such folder"),
        (["bound", "--grid", "L=1", "H=64", "W=2"], "--grid: 'W=2'"),
        (["bound"], "Missing argument"),
        (["bound", "--grid", "L=1", "H=64", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err
