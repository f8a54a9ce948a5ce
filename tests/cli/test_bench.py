"""`incrt bench --quick`: every figure is there and means something, and nothing is left behind."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from incrt_cli.bench.suite import HEADLINES, PARTS
from incrt_cli.cli.main import run

DIAL = str(Path(__file__).resolve().parents[2] / "configs" / "dial.yaml")
SMALL = ["train.threads=1", "train.device=cpu"]
RATIOS = (
    *HEADLINES, "gate_quiet_step_ratio", "conditioning_step_ratio", "birth_spare_steps", "prune_steps",
    "exact_look_steps", "tracker_look_steps", "tracker_step_steps", "bytes_mb_s", "text_rows_s", "tokens_s",
    "step_tflop_s", "model_flops_share",
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Everything, written into the folder `out` of the working folder."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["bench", *SMALL, "--quick", "--out", "out"]) == 0
        yield folder


@pytest.fixture(scope="module")
def figures(whole: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((whole / "out" / "bench.json").read_text())
    return found


def test_every_ratio_is_a_positive_number(figures: dict[str, Any]) -> None:
    assert {"gate_step_ratio", "birth_steps", "layer_ratio", "loop_ratio", "run_ratio", "fasta_mb_s"} <= set(
        figures
    )
    for name in RATIOS:
        assert math.isfinite(figures[name]) and figures[name] > 0.0, name
    assert set(figures["gate_step_ratios"]) == {"paper", "significance"}
    assert figures["gate_step_ratio"] == figures["gate_step_ratios"]["paper"]


def test_every_part_has_measurements_with_their_spread(figures: dict[str, Any]) -> None:
    measured = figures["measurements"]
    assert {row["part"] for row in measured} == set(PARTS)
    for row in measured:
        assert 0.0 < row["q1"] <= row["median"] <= row["q3"] and row["repetitions"] >= 1 and row["shape"]
    layers = [row["ratio"] for row in measured if row["part"] == "layer" and row["what"] == "bank"]
    assert figures["layer_ratio"] == max(layers)


def test_curves_begin_at_one(figures: dict[str, Any]) -> None:
    assert (
        set(figures["curves"]) == set(figures["curve_exponents"]) == {"heads", "width", "tokens", "classes"}
    )
    for points in figures["curves"].values():
        assert len(points) > 2 and points[0]["relative"] == 1.0
        assert all(p["relative"] == pytest.approx(p["seconds"] / points[0]["seconds"]) for p in points)


def test_the_environment_is_told(figures: dict[str, Any]) -> None:
    place = figures["environment"]
    assert (place["device"], place["threads"], place["quick"]) == ("cpu", 1, True) and place["torch"]
    assert place["clock"] == "wall time"


def test_the_folder_holds_tables_and_a_drawing_and_there_is_no_run(whole: Path, figures: Any) -> None:
    assert [path.name for path in whole.iterdir()] == ["out"]
    names = {"bench.json", "bench.md", "bench.csv", "curves.svg"}
    assert {path.name for path in (whole / "out").iterdir()} == names
    rows = list(csv.DictReader((whole / "out" / "bench.csv").read_text().splitlines()))
    assert [row["what"] for row in rows] == [row["what"] for row in figures["measurements"]]
    assert rows[0]["shape"].startswith("B=")
    text = (whole / "out" / "bench.md").read_text()
    assert all(f"| {name} |" in text for name in HEADLINES) and "these are no measurements" in text
    drawing = ElementTree.fromstring((whole / "out" / "curves.svg").read_text())
    lines = [element for element in drawing if element.tag.endswith("polyline")]
    assert [len(each.attrib["points"].split()) for each in lines] == [2, 3] * len(figures["curves"])


def test_parts_are_run_alone_and_say_what_they_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *SMALL, "--quick", "--only", "events,layer", "--json", "--cpu-time"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert [line.split(":")[0] for line in printed.err.splitlines()] == ["1/2 layer", "2/2 events"]
    assert found["birth_steps"] > 0.0 and found["layer_ratio"] > 0.0
    assert found["environment"]["clock"] == "CPU time"
    assert found["run_ratio"] is None and found["gate_step_ratio"] is None and found["curves"] == {}


def test_a_config_is_measured_with_its_own_gate(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["data.examples=600", "model.width=16", "gate.variant=significance", "gate.check_every=5"]
    assert run(["bench", DIAL, *small, *SMALL, "--quick", "--only", "step", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["gate_step_ratios"]) == ["significance"] and found["gate_quiet_step_ratio"] is None
    assert found["environment"]["config"] == "dial"
    assert {row["shape"].get("d") for row in found["measurements"]} == {16, None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "layer,speed, ,steps"], "no part (nothing), speed, steps; there are step, layer, events"),
        (["--only", ""], "no part (nothing)"),
        (["train.device=cuda", "--only", "layer"], "torch finds no CUDA device"),
        (["nowhere.yaml"], "no such file"),
        (["modle.width=8"], "modle"),
        (["gate.variant=best"], "gate.variant"),
        ([DIAL, "width"], "expected KEY=VALUE"),
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
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert run(["bench", "--quick", *arguments]) == 2
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file", "file/out", "closed/out"])
def test_a_folder_that_cannot_be_made_is_named_before_anything_is_measured(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "closed").mkdir()
    # Not by its mode, which does not bind a superuser.
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "closed")
    command = ["bench", *SMALL, "--quick", "--only", "layer", "--out", str(tmp_path / place)]
    assert run(command) == 2
    printed = capsys.readouterr()
    assert "give another --out" in printed.err and str(tmp_path / place.split("/")[0]) in printed.err
    assert "1/1" not in printed.err and not printed.out and not list((tmp_path / "closed").iterdir())
