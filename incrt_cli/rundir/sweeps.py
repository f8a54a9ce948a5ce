"""`sweep.json` of a folder of runs: which cells a sweep has, and why some failed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incrt_cli.rundir.atomic import write_atomic
from incrt_cli.rundir.plain import to_json

_NAME = "sweep.json"


@dataclass
class SweepAccount:
    """By the run folder's name: the swept settings in `cells`, and in `failures` the latest reason."""

    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def write_sweep(parent: Path, account: SweepAccount) -> None:
    """Raises UserError when the system refuses."""
    write_atomic(parent / _NAME, to_json(account) + "\n")


def read_sweep(parent: Path) -> SweepAccount:
    """The account of `parent`; empty where there is none, or what lies there is none of ours."""
    try:
        read = json.loads((parent / _NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return SweepAccount()
    cells = {name: _texts(settings) for name, settings in _mapping(read, "cells").items()}
    return SweepAccount(
        {name: settings for name, settings in cells.items() if settings},
        _texts(_mapping(read, "failures")),
    )


def _mapping(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _texts(value: Any) -> dict[str, str]:
    return {key: str(text) for key, text in value.items()} if isinstance(value, dict) else {}
