"""Which rows a step sees: everything once an epoch, and reserved rows once growth is over."""

from __future__ import annotations

import numpy as np
import pytest

from incrt_cli.config.load import load_config
from incrt_cli.data.build import build_task
from incrt_cli.data.task import Batch, EncodedSplit
from incrt_cli.training.feed import Feed, Phase


@pytest.fixture(scope="module")
def train() -> EncodedSplit:
    data = {"kind": "dial", "lookups": 3, "fillers": 12, "examples": 100}
    config = load_config(None, (), {"name": "feed", "data": data})
    return build_task(config.data, "feed", lambda _: None).splits["train"]


def _rows(batches: list[Batch]) -> list[list[int]]:
    return sorted(row for batch in batches for row in batch.tokens.tolist())


def test_an_epoch_sees_every_row_once_and_the_next_in_another_order(train: EncodedSplit) -> None:
    feed, everything = Feed([Phase(0, train)], 16, seed=0), _rows([train.batch(np.arange(len(train)))])
    first, second = ([feed.batch(step) for step in steps] for steps in (range(5), range(5, 10)))
    assert _rows(first) == _rows(second) == everything
    assert first[0].tokens.tolist() != second[0].tokens.tolist()


def test_a_later_phase_begins_an_epoch_over_its_own_rows(train: EncodedSplit) -> None:
    part = train.subset(np.arange(40))
    feed = Feed([Phase(0, part), Phase(4, train)], 16, seed=0)  # within the second epoch of `part`
    kept = _rows([part.batch(np.arange(40))])
    assert all(row in kept for row in _rows([feed.batch(step) for step in range(4)]))
    assert _rows([feed.batch(step) for step in range(4, 9)]) == _rows([train.batch(np.arange(len(train)))])
    orders = [
        Feed([Phase(0, train), Phase(5, train)], 16, seed=0).batch(step).tokens.tolist() for step in (0, 5)
    ]
    assert orders[0] != orders[1]


@pytest.mark.parametrize("step", [0, 3, 4, 7, 20])
def test_a_step_sees_the_same_rows_whatever_was_asked_before(train: EncodedSplit, step: int) -> None:
    phases = [Phase(0, train.subset(np.arange(40))), Phase(4, train)]
    run = Feed(phases, 16, seed=3)
    batches = [run.batch(earlier) for earlier in range(21)]
    assert Feed(phases, 16, seed=3).batch(step).tokens.tolist() == batches[step].tokens.tolist()
