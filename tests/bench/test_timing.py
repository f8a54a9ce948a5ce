"""Works are timed in turns, and what is said of them are medians: on a clock that tells what it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event

import pytest
import torch

from incrt_cli.bench.measurement import rate_of, seconds_of
from incrt_cli.bench.timing import Effort, Timing, clock_of, side_by_side


class Told:
    """Does the work and tells the next of its times."""

    def __init__(self, times: Iterator[float]) -> None:
        self._times = times

    def __call__(self, work: Callable[[], object]) -> float:
        work()
        return next(self._times)


def test_works_take_turns_and_the_warm_up_is_not_counted() -> None:
    done: list[str] = []
    works = {name: lambda name=name: done.append(name) for name in "AB"}
    times = iter([100.0, 200.0, 1.0, 2.0, 3.0, 6.0, 2.0, 5.0])
    found = side_by_side(works, Effort(3, least=3, seconds=1e9), Told(times), lambda: done.append("-"))
    assert "".join(done) == "-AB-AB-AB-AB"
    assert found["A"].seconds == (1.0, 3.0, 2.0) and found["B"].seconds == (2.0, 6.0, 5.0)
    assert (found["A"].median, found["B"].median) == (2.0, 5.0)
    assert found["B"].over(found["A"]) == 2.5  # of the medians, not the median of 2, 2 and 2.5


def test_one_slow_round_moves_no_median() -> None:
    assert Timing((1.0, 1.1, 50.0, 0.9, 1.0)).median == 1.0


@pytest.mark.parametrize(("seconds", "rounds"), [(1e9, 7), (10.0, 5), (0.0, 3)])
def test_rounds_end_with_the_time_but_not_before_the_least(seconds: float, rounds: int) -> None:
    effort = Effort(repetitions=7, least=3, seconds=seconds, warm_up=2)
    times = iter([1000.0] * 4 + [1.25] * 14)  # two works: 2.5 a round
    found = side_by_side({"A": int, "B": int}, effort, Told(times))
    assert len(found["A"].seconds) == rounds and 1000.0 not in found["A"].seconds


def test_rounds_are_put_together_in_order() -> None:
    assert Timing((1.0, 2.0, 3.0, 4.0, 5.0)).together(2).seconds == (3.0, 7.0)
    assert Timing((1.0, 2.0)).together(1).seconds == (1.0, 2.0)


def test_measurements_carry_their_spread_and_what_they_are_held_against() -> None:
    timings = {"slow": Timing((2.0, 4.0, 6.0, 8.0, 10.0)), "quick": Timing((1.0, 2.0, 3.0))}
    slow, quick = seconds_of("part", timings, {"d": 8}, "quick")
    assert (slow.q1, slow.median, slow.q3, slow.repetitions) == (4.0, 6.0, 8.0, 5)
    assert (slow.ratio, slow.against) == (3.0, "quick") and (quick.ratio, quick.against) == (None, None)
    rate = rate_of("part", "slow", timings["slow"], 24.0, "rows/s", {})
    assert (rate.q1, rate.median, rate.q3) == (3.0, 4.0, 6.0)


def test_the_clock_of_a_cpu_does_the_work_once() -> None:
    done: list[int] = []
    assert clock_of(torch.device("cpu"))(lambda: done.append(1)) >= 0.0
    assert done == [1]


def test_cpu_time_does_not_pass_while_a_process_waits() -> None:
    wait = Event().wait
    assert clock_of(torch.device("cpu"), cpu_time=True)(lambda: wait(0.2)) < 0.2
    assert clock_of(torch.device("cpu"))(lambda: wait(0.2)) >= 0.2
