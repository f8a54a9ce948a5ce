"""What a run shows while it runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from incrt_cli.cli.progress import LiveReporter, PlainReporter, describe
from incrt_cli.training.progress import Status

STATUS = Status(449, 2064, 1.5, 1.41074, 119, 0.984, 0.2401, "validation")


def test_every_figure_fits_into_eighty_columns() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with LiveReporter(console) as reporter:
        reporter.step(STATUS)
    shown = console.file.getvalue()
    assert "…" not in shown and "449/2064" in shown
    assert "loss 1.4107  heads 119  λmax/θ 0.98  val acc 24.0%" in shown


def test_elsewhere_an_evaluation_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = PlainReporter()
    reporter.step(STATUS)
    reporter.evaluated(STATUS)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("epoch 1.50  step 449/2064  ") and line.endswith(describe(STATUS))


def test_what_is_not_known_yet_is_not_shown() -> None:
    start = Status(0, 2064, 0.0, float("nan"), 1, None, None, "train")
    assert describe(start) == "heads 1"
