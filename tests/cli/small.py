"""A config that many runs can be trained by, and what holds of every command that trains several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from incrt_cli.cli.main import run

SMALL = {
    "name": "small",
    "baseline": False,
    "data": {"kind": "dial", "lookups": 3, "examples": 120, "max_tokens": 64},
    "model": {"width": 8, "head_width": 4, "value_width": 4},
    "gate": {
        "variant": "paper",
        "calibration_batches": 2,
        "check_every": 2,
        "growth_fraction": 0.3,
        "max_heads": 3,
    },
    "train": {"epochs": 3, "batch_size": 16, "device": "cpu", "threads": 1},
}


def carried_out(command: Sequence[str], folder: Path) -> Path:
    """`folder` with small.yaml in it, after `command` was carried out there."""
    (folder / "small.yaml").write_text(yaml.safe_dump(SMALL))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run([*command]) == 0
    return folder


def table_of_again(
    command: Sequence[str], runs: Path, heading: str, capsys: pytest.CaptureFixture[str]
) -> str:
    """The table that `command` ends with once it finds all its `runs` finished: it trains nothing, and
    `incrt report` shows the same.
    """
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("result.json")}
    assert before and run([*command]) == 0
    again = capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in runs.rglob("result.json")}
    assert run(["report", str(runs)]) == 0
    table = again[again.index(heading) : again.index("run folders:")].strip()
    assert table in capsys.readouterr().out
    return table
