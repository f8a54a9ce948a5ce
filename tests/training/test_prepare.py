"""Records that the gate judges by are not trained on while it grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrt_cli.config.load import load_config
from incrt_cli.data.build import build_task
from incrt_cli.training.prepare import drawer, prepare, set_apart

BASE: dict[str, Any] = {
    "name": "apart",
    "data": {"kind": "dial", "lookups": 1, "examples": 1000},
    "model": {"width": 16, "head_width": 4, "value_width": 4},
    "gate": {"variant": "significance", "probe_rows": 100, "search_rows": 50, "calibration_batches": 2},
    "train": {"device": "cpu", "threads": 1},
}


def test_reserved_records_are_taken_from_training_by_the_seed() -> None:
    config = load_config(None, (), BASE)
    train = build_task(config.data, "apart", lambda _: None).splits["train"]
    rest, judges = set_apart(train, 100, seed=0)
    assert set(train.records) - set(rest.records) == set(judges.records) and len(judges) == 100
    assert set(set_apart(train, 100, seed=1)[1].records) != set(judges.records)


def test_no_more_than_a_fifth_is_reserved() -> None:
    config = load_config(None, (), BASE)
    train = build_task(config.data, "apart", lambda _: None).splits["train"]
    assert len(set_apart(train, 100_000, seed=0)[1]) == len(train) // 5


def test_the_task_itself_keeps_every_record() -> None:
    prepared = prepare(load_config(None, (), BASE), lambda _: None)
    assert prepared.growth_rows is not None
    assert len(prepared.task.splits["train"]) == len(prepared.growth_rows) + 100 == 800


def test_a_look_draws_other_training_rows_and_the_same_judges() -> None:
    config = load_config(None, (), BASE)
    prepared = prepare(config, lambda _: None)
    train = prepared.task.splits["train"]
    draw = drawer(train, train.subset(np.arange(64)), config, prepared.device)

    def tokens(step: int, judges: bool) -> list[list[int]]:
        batches = draw(step).judges if judges else draw(step).search
        return [row for batch in batches for row in batch.tokens.tolist()]

    assert tokens(1, judges=True) == tokens(2, judges=True)
    assert tokens(1, judges=False) == tokens(1, judges=False) != tokens(2, judges=False)
    assert len(tokens(1, judges=False)) == 50


def test_other_gates_train_on_everything() -> None:
    config = load_config(None, ["gate.variant=paper"], BASE)
    assert prepare(config, lambda _: None).growth_rows is None
