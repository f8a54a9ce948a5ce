"""Batches come back in order, from this process or from several, and errors come with them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from incrt_cli.data.workers import available_cores, batched, ordered_map
from incrt_cli.errors import UserError


def slow_for_even(number: int) -> int:
    time.sleep(0.02 if number % 2 == 0 else 0.0)
    return number * number


def refuse(number: int) -> int:
    raise UserError(f"no {number}")


def die(number: int) -> int:
    os._exit(1)


def own_process(number: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_keep_the_order_of_the_items(workers: int) -> None:
    assert list(ordered_map(slow_for_even, range(9), workers)) == [n * n for n in range(9)]


def test_only_two_workers_or_more_are_processes() -> None:
    assert set(ordered_map(own_process, range(3), 1)) == {os.getpid()}
    assert os.getpid() not in set(ordered_map(own_process, range(3), 2))


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_the_function_reaches_the_caller(workers: int) -> None:
    with pytest.raises(UserError, match="no 0"):
        list(ordered_map(refuse, range(3), workers))


def test_a_worker_that_dies_is_a_message() -> None:
    with pytest.raises(UserError, match=r"a worker process died.*data\.workers"):
        list(ordered_map(die, range(3), 2))


def test_items_are_taken_only_a_little_ahead_of_the_results() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number

    results = ordered_map(slow_for_even, items(), 2)
    next(results)
    assert taken <= 5
    results.close()


def test_batches_hold_every_item_once() -> None:
    assert list(batched(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(batched([], 3)) == [] and available_cores() >= 1
