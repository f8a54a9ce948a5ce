"""A whole run whose distribution changes under way: what is watched, and what it is held against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.errors import UserError
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import Run, read_run
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train

BASE: dict[str, Any] = {
    "name": "small",
    "data": {
        "kind": "synthetic", "variants": 3, "genomes": 180, "genome_length": 600, "substitutions": 20,
        "max_tokens": 128,
    },
    "model": {"width": 16, "head_width": 4, "value_width": 4},
    "gate": {"variant": "paper", "calibration_batches": 4, "check_every": 4, "growth_fraction": 0.2},
    "train": {"epochs": 12.0, "batch_size": 16, "learning_rate": 0.01, "device": "cpu", "threads": 1},
}  # fmt: skip
SHIFT = ("data.shift.at=0.4", "data.shift.population_seed=1")


def _train(folder: Path, *overrides: str) -> Run:
    return read_run(train(load_config(None, overrides, BASE), folder, Silent(), summarise_run))


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _train(tmp_path_factory.mktemp("runs") / "run", *SHIFT)


def _accuracies(run: Run) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {"before": {}, "after": {}}
    for row in run.metrics:
        if row["kind"] == "evaluation":
            found[row["population"]][row["step"]] = row["accuracy"]
    return found


def test_both_populations_are_watched_from_the_start_and_at_the_shift(shifted: Run) -> None:
    accuracies, step = _accuracies(shifted), shifted.result["shift"]["step"]
    assert step == round(0.4 * shifted.result["steps"])
    assert accuracies["before"].keys() == accuracies["after"].keys() >= {0, step, shifted.result["steps"]}


def test_the_second_population_is_learnt_after_the_shift_alone(shifted: Run) -> None:
    accuracies, step = _accuracies(shifted), shifted.result["shift"]["step"]
    assert accuracies["before"][step] > 0.9 > 0.7 > accuracies["after"][step]
    tested = shifted.result["shift"]["populations"]
    assert tested["after"]["accuracy"] == shifted.result["accuracy"] > 0.9
    assert tested["before"]["test_records"] > 0


def test_until_the_shift_the_run_is_the_stationary_one(shifted: Run, tmp_path: Path) -> None:
    stationary = _train(tmp_path / "run")
    step = shifted.result["shift"]["step"]

    def checks(run: Run) -> list[dict[str, Any]]:
        return [row for row in run.metrics if row["kind"] == "check" and row["step"] <= step]

    assert checks(shifted) == checks(stationary) != []
    assert "shift" not in stationary.result


def test_the_account_of_the_data_holds_both_populations(shifted: Run) -> None:
    assert shifted.data["after_shift"]["splits"] != {} != shifted.data["splits"]
    assert len(shifted.environment["data_sha256"]) == 2 * len(
        {Path(name).name for name in shifted.environment["data_sha256"]}
    )


def test_the_report_tells_both_sides_apart(shifted: Run) -> None:
    report = (shifted.path / "report.md").read_text()
    assert "## Accuracy on both populations" in report and "## Events and the shift" in report
    assert json.loads((shifted.path / "result.json").read_text())["shift"]["step"] > 0


def test_the_gate_that_asks_reserved_records_refuses_a_shift(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.shift with gate\.variant: significance"):
        _train(tmp_path / "run", *SHIFT, "gate.variant=significance")
    assert not (tmp_path / "run").exists()
