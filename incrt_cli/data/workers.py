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
from threading import Thread
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
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, context, initializer=_start_worker) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(_submit(pool, function, item))
                if len(waiting) >= workers * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise UserError(
                "a worker process died: for want of memory (set data.workers to a smaller number) or, "
                "in a script of your own, because the call is not under `if __name__ == '__main__':`"
            ) from error
        except BaseException:
            # Nobody wants their results any more, and a batch that is hard to align takes many seconds.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    # This may start a worker, which inherits the mask: until its initializer runs, a Ctrl-C would make it
    # print a traceback of its own.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(function, item)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    # Ctrl-C reaches the whole group; each worker would print a traceback of its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that is killed outright tells nobody: its workers would wait for work for ever.
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
