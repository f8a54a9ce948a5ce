"""Which rows a step trains on, before and after a shift."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.data.batches import epoch_batches
from incrt_cli.data.task import EncodedSplit, Task
from incrt_cli.data.token_rows import TokenRows
from incrt_cli.training.stream import Stream

BASE = {
    "name": "stream",
    "data": {"kind": "synthetic", "shift": {"at": 0.5, "population_seed": 1}},
    "train": {"epochs": 2.0, "batch_size": 4},
}


def _task(rows: int) -> Task:
    ones = np.ones(rows, dtype=np.int64)
    tokens = TokenRows(pa.chunked_array([[[2]] * rows]))
    split = EncodedSplit(tokens, ones, 0 * ones, np.arange(rows), ones.astype(bool))
    return Task("task", {"train": split}, ["a", "b"], {}, 3, 1)


def _config(*overrides: str) -> Config:
    return load_config(None, overrides, BASE)


def test_a_stationary_stream_is_the_epochs_one_after_the_other() -> None:
    task = _task(10)
    stream = Stream([task], _config())
    expected = [rows for epoch in (0, 1) for rows in epoch_batches(np.ones(10, int), 4, 0, epoch)]
    assert stream.total_steps == stream.shift_step == len(expected) == 6
    assert all(np.array_equal(stream.rows(step)[1], rows) for step, rows in enumerate(expected))


def test_from_the_shift_on_batches_come_from_the_second_population() -> None:
    before, after = _task(10), _task(6)
    stream = Stream([before, after], _config())
    splits = [stream.rows(step)[0] for step in range(stream.total_steps)]
    assert stream.shift_step == 3
    assert splits == [before.splits["train"]] * 3 + [after.splits["train"]] * 3
    # The second population's own epochs: two batches hold each of its rows once.
    assert sorted(np.concatenate([stream.rows(3)[1], stream.rows(4)[1]])) == list(range(6))


def test_a_step_is_the_same_in_whatever_order_it_is_asked_for() -> None:
    config, tasks = _config("seed=5"), [_task(10), _task(6)]
    forwards, alone = Stream(tasks, config), Stream(tasks, config)
    rows = [forwards.rows(step)[1] for step in range(forwards.total_steps)]
    assert all(np.array_equal(alone.rows(step)[1], rows[step]) for step in (5, 0, 4, 1))


@pytest.mark.parametrize("at", [0.01, 0.99])
def test_either_side_gets_a_step_however_early_or_late_the_shift(at: float) -> None:
    stream = Stream([_task(10), _task(10)], _config(f"data.shift.at={at}"))
    assert {stream.population(step) for step in range(stream.total_steps)} == {0, 1}


def test_reserved_rows_are_read_once_growth_is_over() -> None:
    task = _task(10)
    train = task.splits["train"]
    growing = train.subset(np.arange(8))
    stream = Stream([task], _config("gate.until=0.5"), growing)
    splits = [stream.rows(step)[0] for step in range(stream.total_steps)]
    assert stream.growth_ends == 3 and splits == [growing] * 3 + [train] * 3
    # The later phase begins an epoch of its own, which holds every record once.
    assert sorted(np.concatenate([stream.rows(step)[1] for step in (3, 4, 5)])) == list(range(10))


def test_a_later_phase_does_not_begin_with_the_order_of_the_first() -> None:
    task = _task(10)
    stream = Stream([task], _config("gate.until=0.5"), task.splits["train"])
    assert not np.array_equal(stream.rows(0)[1], stream.rows(3)[1])
