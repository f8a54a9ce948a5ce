"""Batches come back in order, from this process or from several, and errors come with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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


def sleep_long(number: int) -> int:
    time.sleep(60 if number else 0)
    return number


def test_whoever_wants_no_more_results_does_not_wait_for_them() -> None:
    results = ordered_map(sleep_long, range(3), 2)
    assert next(results) == 0
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 30


def interrupts_are_blocked(number: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_interrupt_cannot_reach_a_worker_that_is_starting() -> None:
    assert all(ordered_map(interrupts_are_blocked, range(3), 2))
    assert not interrupts_are_blocked(0)


SCRIPT = """
from incrt_cli.data.workers import ordered_map
from tests.data.test_workers import own_process
if __name__ == "__main__":
    results = ordered_map(own_process, iter(range(100)), 2)
    print(next(results), next(results), flush=True)
    input()
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    root = Path(__file__).resolve().parents[2]
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert parent.stdout is not None and parent.stdin is not None
    workers = {int(pid) for pid in parent.stdout.readline().split()}
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 180
    while any(is_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in workers if is_alive(pid)]
    parent.stdin.close()
    parent.stdout.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended stays listed until whoever adopted it has asked.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
