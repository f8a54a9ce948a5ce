"""What two runs have to share for one to be the other one undisturbed."""

from __future__ import annotations

import json
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch

from incrt_cli.rundir import read_model, read_run

TIMES = {"seconds", "steps_per_second", "finished_at", "first_step_at"}


def differences(one: Path, other: Path) -> list[str]:
    """Names of weights, rows and results of two finished runs that are not the same bit for bit."""
    first, second = read_model(one)[0], read_model(other)[0]
    found = [
        name
        for name in sorted(first.keys() | second.keys())
        if name not in first or name not in second or not torch.equal(first[name], second[name])
    ]
    for name in ("events.jsonl", "metrics.jsonl"):
        rows = zip_longest(_rows(one / name), _rows(other / name))
        found += [f"{name}:{number}" for number, (a, b) in enumerate(rows, start=1) if a != b]
    results = [read_run(run).result or {} for run in (one, other)]
    keys = set().union(*results) - TIMES
    return found + sorted(key for key in keys if results[0].get(key) != results[1].get(key))


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]
