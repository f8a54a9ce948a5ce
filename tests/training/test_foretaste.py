"""A few real steps before a head count is predicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.errors import UserError
from incrt_cli.report.foresight import k_pilot, projected_heads
from incrt_cli.rundir import read_run
from incrt_cli.training.foretaste import train_a_little
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train

SETTINGS = [
    "name=dial", "baseline=false", "data.kind=dial", "data.lookups=1", "data.examples=400",
    "model.width=16", "model.head_width=4", "model.value_width=4", "gate.variant=paper",
    "gate.calibration_batches=2", "gate.check_every=4", "train.epochs=2", "train.threads=1",
]  # fmt: skip


def test_the_pilot_sees_what_the_run_itself_would_see(tmp_path: Path) -> None:
    config = load_config(None, SETTINGS)
    run = read_run(train(config, tmp_path / "run", Silent(), lambda path, result: ("", "")))
    steps = run.result["total_steps"]
    pilot = train_a_little(config, steps // 2, lambda text: None)
    assert k_pilot(pilot.prediction, pilot.looks, pilot.steps) == projected_heads(run, 0.5) > 1
    assert pilot.total_steps == steps
    assert pilot.heads == 1 + sum(e["kind"] == "birth" and e["step"] <= steps // 2 for e in run.events)
    assert pilot.prediction["k_greedy"] == run.prediction["k_greedy"]


def test_before_the_first_check_nothing_can_be_said() -> None:
    pilot = train_a_little(load_config(None, SETTINGS), 2, lambda text: None)
    assert pilot.looks == [] and k_pilot(pilot.prediction, pilot.looks, 2) is None


@pytest.mark.parametrize(
    ("setting", "steps", "said"),
    [
        ("gate.enabled=false", 2, "static model"),
        ("gate.variant=significance", 2, "gate.variant=paper"),
        ("seed=0", 10**6, "the whole run has"),
    ],
)
def test_what_cannot_be_piloted_is_said(setting: str, steps: int, said: str) -> None:
    with pytest.raises(UserError, match=said):
        train_a_little(load_config(None, [*SETTINGS, setting]), steps, lambda text: None)
