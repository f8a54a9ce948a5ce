"""Configs that leave growth no room are refused or told apart."""

from __future__ import annotations

from typing import Any

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.errors import UserError
from incrt_cli.training.prepare import prepare
from incrt_cli.training.room import require_room, too_short
from incrt_cli.training.stream import Stream

BASE: dict[str, Any] = {
    "name": "room",
    "data": {"kind": "dial", "lookups": 1, "examples": 200},
    "model": {"width": 16, "head_width": 4, "value_width": 4},
    "gate": {"variant": "paper", "check_every": 10},
    "train": {"device": "cpu", "threads": 1, "batch_size": 10, "epochs": 1.0},
}


def config(*overrides: str) -> Config:
    return load_config(None, overrides, BASE)


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (("model.heads=3", "gate.max_heads=2"), "gate.max_heads = 2"),
        (("model.layers=3", "depth.enabled=true", "depth.max_layers=2"), "depth.max_layers = 2"),
    ],
)
def test_a_growing_model_may_not_start_above_its_limits(overrides: tuple[str, ...], named: str) -> None:
    with pytest.raises(UserError, match=named):
        require_room(config(*overrides))
    require_room(config(*overrides, "gate.enabled=false"))


@pytest.mark.parametrize(("examples", "rows"), [(6, 1024), (200, 1)])
def test_a_gate_that_judges_by_reserved_records_needs_two(examples: int, rows: int) -> None:
    overrides = (f"data.examples={examples}", f"gate.probe_rows={rows}", "gate.variant=significance")
    with pytest.raises(UserError, match="fewer than 2 records to judge by"):
        prepare(config(*overrides), lambda _: None)


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("gate.check_every=16",), None),
        (("gate.check_every=17",), "gate.check_every"),
        (("gate.variant=significance", "gate.until=0.5", "gate.settle=8"), None),
        (("gate.variant=significance", "gate.until=0.5", "gate.settle=9"), "gate.settle"),
        (("gate.enabled=false", "gate.check_every=17"), None),
    ],
)
def test_a_run_too_short_for_a_birth_says_so(overrides: tuple[str, ...], key: str | None) -> None:
    prepared = prepare(config(*overrides), lambda _: None)
    stream = Stream(prepared.tasks, prepared.config, prepared.growth_rows)
    warning = too_short(prepared.config, stream)
    assert (warning is None) == (key is None)
    assert key is None or f"Lower {key}" in str(warning)
