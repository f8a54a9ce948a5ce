"""Works timed side by side: warm-up, then rounds of A B A B …, medians and quartiles.

    ratio of A to B = median(A)/median(B)

Rounds are interleaved because a machine slows down and recovers over seconds: what befalls one work then
befalls the others too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

Work = Callable[[], object]
Clock = Callable[[Work], float]  # does the work; the seconds it took


@dataclass(frozen=True)
class Effort:
    """`repetitions` rounds after `warm_up`, but no more once `seconds` are measured and `least` are done."""

    repetitions: int
    least: int
    seconds: float = 6.0
    warm_up: int = 1


@dataclass(frozen=True)
class Timing:
    """Seconds of every round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return self.quartiles[1]

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile, with linear interpolation."""
        low, middle, high = np.percentile(self.seconds, [25, 50, 75]).tolist()
        return low, middle, high

    def together(self, rounds: int) -> Timing:
        """Every `rounds` consecutive rounds as one; what is left at the end is dropped."""
        whole = len(self.seconds) // rounds
        return Timing(tuple(sum(self.seconds[i * rounds : (i + 1) * rounds]) for i in range(whole)))

    def over(self, other: Timing) -> float:
        """Median over the median of `other`."""
        return self.median / other.median


def side_by_side(
    works: Mapping[str, Work], effort: Effort, clock: Clock, before: Work = lambda: None
) -> dict[str, Timing]:
    """Time each of `works` once a round, in their order; `before` runs at the start of a round, untimed."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    spent = 0.0
    for number in range(effort.warm_up + effort.repetitions):
        before()
        found = {name: clock(work) for name, work in works.items()}
        if number < effort.warm_up:
            continue
        for name, seconds in found.items():
            taken[name].append(seconds)
        spent += sum(found.values())
        if spent > effort.seconds and number + 1 - effort.warm_up >= effort.least:
            break
    return {name: Timing(tuple(seconds)) for name, seconds in taken.items()}


def clock_of(device: torch.device, cpu_time: bool = False) -> Clock:
    """Wall time on a CPU; on CUDA the time between two events, which waits for what was queued.

    With `cpu_time`, the seconds that this process has computed, on all its threads: other processes do not
    show in them, but neither does what threads gain.
    """
    if device.type == "cuda":
        return _on_cuda
    return partial(_on_cpu, time.process_time if cpu_time else time.perf_counter)


def _on_cpu(now: Callable[[], float], work: Work) -> float:
    started = now()
    work()
    return now() - started


def _on_cuda(work: Work) -> float:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()  # nothing of the work before is left in the queue
    first.record()
    work()
    last.record()
    torch.cuda.synchronize()
    return float(first.elapsed_time(last)) / 1000.0
