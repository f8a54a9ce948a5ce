"""Runs that condition their attention: figures, table, warning; and runs that do not (METHOD §9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, save

from incrt_cli.cli.main import run as command
from incrt_cli.config.load import load_config
from incrt_cli.errors import DivergedError
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import Run, read_model, read_run
from incrt_cli.training.conditioning import conditioning_rows, sample
from incrt_cli.training.prepare import prepare
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train

BASE: dict[str, Any] = {
    "name": "conditioned",
    "data": {"kind": "dial", "lookups": 1, "examples": 400},
    "model": {"width": 16, "head_width": 4, "value_width": 4, "dropout": 0.1},
    "gate": {"variant": "paper", "calibration_batches": 2, "check_every": 2},
    "train": {"epochs": 2.0, "device": "cpu", "threads": 1},
    "baseline": False,
}
SVD = ("conditioning.method=svd", "conditioning.targets=[q, k, v]")


def _train(folder: Path, *overrides: str) -> Run:
    return read_run(train(load_config(None, overrides, BASE), folder, Silent(), summarise_run))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _train(tmp_path_factory.mktemp("runs") / "run", *SVD)


def _looks(run: Run) -> list[dict[str, Any]]:
    return [row for row in run.metrics or () if row["kind"] == "conditioning"]


def test_figures_are_taken_before_the_first_step_and_after_the_last(finished: Run) -> None:
    assert [look["step"] for look in _looks(finished)] == [0, finished.result["steps"]]
    first, last = ({f["figure"]: f for f in look["figures"]} for look in _looks(finished))
    for name in ("κ(W_Q)", "κ(W_K)", "κ(W_V)"):
        assert first[name]["after"] <= 2.0 + 1e-6 and first[name]["before"] > first[name]["after"]
    assert 0.0 < last["entropy / ln n"]["worst"] <= last["entropy / ln n"]["after"] < 1.0
    (jacobian,) = [f for name, f in first.items() if name.startswith("κ(Jacobian), ")]
    assert jacobian["before"] >= 1.0 and jacobian["after"] != jacobian["before"]
    for figures in (first, last):
        exact, bound = (f for name, f in figures.items() if name.startswith("κ(Jacobian)"))
        assert all(bound[key] >= exact[key] for key in ("before", "after", "worst"))


def test_the_report_has_a_line_for_every_figure(finished: Run) -> None:
    table = (finished.path / "report.md").read_text().split("## Conditioning\n")[1].split("## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(lines) - 1 == sum(len(look["figures"]) for look in _looks(finished)) == 12


def test_the_saved_model_holds_a_correction_of_every_grown_head(finished: Run) -> None:
    state, architecture, _, _ = read_model(finished.path)
    heads = finished.result["heads"]
    assert heads > 1 and state["layers.0.bank.correction"].shape == (heads, 12, 16)
    assert architecture["conditioning"]["method"] == "svd"


def test_bound_counts_the_effective_weights(finished: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["bound", str(finished.path), "--json"]) == 0
    with_correction = capsys.readouterr().out
    weights = finished.path / "model" / "model.safetensors"
    kept = weights.read_bytes()
    weights.write_bytes(save({n: t for n, t in load(kept).items() if not n.endswith("correction")}))
    try:
        assert command(["bound", str(finished.path), "--json"]) == 0
    finally:
        weights.write_bytes(kept)
    assert capsys.readouterr().out != with_correction


def test_measuring_changes_nothing_of_a_run() -> None:
    prepared = prepare(load_config(None, SVD, BASE), lambda _: None)
    prepared.model.train()
    batch = sample(prepared.task, prepared.device)
    before = {name: tensor.clone() for name, tensor in prepared.model.state_dict().items()}
    generator = torch.get_rng_state()
    rows = conditioning_rows(prepared.model, batch, 0)
    assert rows == conditioning_rows(prepared.model, batch, 0)
    assert all(torch.equal(before[name], tensor) for name, tensor in prepared.model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generator) and prepared.model.training
    assert prepared.model.attention_layers[0].observer is None


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        (("conditioning.targets=[q, k]",), True),
        (("conditioning.targets=[q, k]", "conditioning.strength=0.01"), False),
        ((), False),
    ],
)
def test_a_saturated_softmax_is_said_before_training(settings: tuple[str, ...], warned: bool) -> None:
    said: list[str] = []
    wide = ("model.head_width=16", "conditioning.method=diagonal", *settings)
    prepare(load_config(None, wide, BASE), said.append)
    assert any("layer 0 is saturated" in line for line in said) == warned


def test_what_is_no_number_before_the_first_step_is_not_laid_to_the_learning_rate(tmp_path: Path) -> None:
    keys = ("conditioning.method=diagonal", "conditioning.strength=1e30", "conditioning.targets=[q,k]")
    with pytest.raises(DivergedError, match=r"at step 0.*lower conditioning.strength") as caught:
        _train(tmp_path / "run", *keys)
    assert "learning_rate" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [("conditioning.targets=[q]", "conditioning.strength=3"), (*SVD, "conditioning.measure=false")],
)
def test_figures_are_taken_where_something_is_conditioned_unless_they_are_refused(
    tmp_path: Path, settings: tuple[str, ...]
) -> None:
    run = _train(tmp_path / "run", "train.epochs=0.1", *settings)
    assert not _looks(run) and "## Conditioning" not in (run.path / "report.md").read_text()
    assert any("correction" in name for name in read_model(run.path)[0]) == ("svd" in settings[0])


def test_a_control_has_the_same_table_and_is_the_run_that_nobody_measured(
    finished: Run, tmp_path: Path
) -> None:
    control, plain = _train(tmp_path / "control", "conditioning.measure=true"), _train(tmp_path / "plain")
    for look, conditioned in zip(_looks(control), _looks(finished), strict=True):
        pairs = zip(look["figures"], conditioned["figures"], strict=True)
        assert all(ours["figure"] == theirs["figure"] for ours, theirs in pairs)
        assert all(figure["before"] == figure["after"] for figure in look["figures"])
    pairs = zip(_looks(control)[0]["figures"], _looks(finished)[0]["figures"], strict=True)
    assert all(ours["before"] == theirs["before"] for ours, theirs in pairs), "both start from one model"
    measured, other = (read_model(run.path)[0] for run in (control, plain))
    assert all(torch.equal(measured[name], other[name]) for name in other)
