"""An ordered map over batches, in this process or in several."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from incrt_cli.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
_AHEAD = 2  # batches in flight for each worker: none idles, and memory does not grow with the input


def available_cores() -> int:
    """Cores that this process may use (a container or a batch queue may allow fewer than there are)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def ordered_map(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """`map(function, items)`, results in the order of `items`; with 2 workers or more, in processes.

    `function` must be picklable. Raises UserError when a worker dies, and whatever `function` raises.
    """
    if workers < 2:
        yield from map(function, items)
        return
    # spawn: a fork of a process that runs threads (torch's, a decompressor's) may deadlock.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_leave_interrupts_to_the_parent) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= workers * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise UserError(
                "a worker process died: for want of memory (set data.workers to a smaller number) or, "
                "in a script of your own, because the call is not under `if __name__ == '__main__':`"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    # Ctrl-C reaches the whole group; each worker would print a traceback of its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
