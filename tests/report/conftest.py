"""Fabricated run folders, written by the same `RunWriter` as real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from incrt_cli.rundir import Run, RunWriter, read_run, utc_now

CERTIFICATE = {
    "layer": 0, "sufficient": True, "minimal": True, "lambda_max": 0.91, "theta": 1.0, "min_release": 1.4,
    "phi_g": 0.5, "last_event_step": 240, "gamma": 3.2, "captured_share": 0.875, "events": 13,
}  # fmt: skip
LAYER = {
    "layer": 0, "kappa": 2.5, "gamma": 10.0, "lambda_max": 4.0, "lambda_min": -3.5, "theta": 1.0,
    "k_law": 14.4, "k_greedy": 11, "k_bound": 31, "eigenvalues": [4.0, -3.5, 2.0, -2.25, 0.5, -0.75],
}  # fmt: skip


def result(**changes: Any) -> dict[str, Any]:
    return {
        "status": "complete", "finished_at": utc_now(), "first_step_at": utc_now(), "seed": 0,
        "accuracy": 0.9, "macro_f1": 0.85, "test_loss": 0.3, "test_records": 400, "majority_accuracy": 0.25,
        "unseen": {"records": 300, "accuracy": 0.88},
        "per_class": [{"label": "Alpha", "precision": 0.9, "recall": 0.8, "f1": 0.847, "support": 400}],
        "baseline": {"name": "k-mer counts", "accuracy": 0.875, "macro_f1": 0.8, "seconds": 1.0},
        "heads": 12, "heads_per_layer": [12], "births": 13, "prunes": 2, "parameters": 123456,
        "parameters_start": 100000, "steps": 1052, "total_steps": 1052, "seconds": 61.25, "padding": 0.021,
        "steps_per_second": 17.2, "certificate": [CERTIFICATE], "sufficient": True, "minimal": True,
        "stopped_by_itself": True, "last_event_step": 240, "permuted_labels": False, "growing": True,
    } | changes  # fmt: skip


@pytest.fixture
def make_run(tmp_path) -> Callable[..., Run]:
    """`make_run(name, config=…, **result changes)`: a finished run under `runs/`; `finished=False`: not."""

    def make(name: str = "demo", config: dict[str, Any] | None = None, finished: bool = True, **changes: Any):
        writer = RunWriter.create(None, name, tmp_path / "runs")
        base = {"name": "demo", "data": {"kind": "synthetic"}}
        writer.write_config(yaml.safe_dump(base | {"seed": changes.get("seed", 0)} | (config or {})))
        writer.write_environment({"incrt": "0.1.0", "started_at": utc_now()})
        writer.write_data({"records": 4000})
        writer.write_prediction({"layers": [LAYER], "k_law": 14.4, "k_greedy": 11, "k_bound": 31})
        writer.append_metrics({"kind": "evaluation", "step": 0})
        if finished:
            writer.write_result(result(**changes))
        return read_run(writer.path)

    return make


@pytest.fixture
def foreign(tmp_path) -> Path:
    """A folder of somebody else's under `runs/`."""
    folder = tmp_path / "runs" / "holiday"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("model_type: bert\n")
    return folder
