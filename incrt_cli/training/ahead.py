"""What the next steps need, made in a thread while this one computes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import torch

_DEPTH = 2  # batches that are ready before their step
Item = TypeVar("Item")
Made = TypeVar("Made")


def depth_for(device: torch.device) -> int:
    """How many batches to make ahead; none on the CPU, where the thread would take a core from the step."""
    return _DEPTH if device.type == "cuda" else 0


def made_ahead(
    make: Callable[[Item], Made], items: Iterable[Item], depth: int
) -> Generator[Made, None, None]:
    """`make(item)` of every item, in their order, up to `depth` of them made before they are asked for.

    One thread makes them all, and has ended when the generator is used up or closed. What `make` raises is
    raised where its item would have come. With `depth` 0 there is no thread.
    """
    if depth == 0:
        yield from map(make, items)
        return
    left, thread = iter(items), ThreadPoolExecutor(1, "made-ahead")
    try:
        pending = deque(thread.submit(make, item) for item in islice(left, depth))
        while pending:
            made = pending.popleft().result()
            pending.extend(thread.submit(make, item) for item in islice(left, 1))
            yield made
    finally:
        thread.shutdown(cancel_futures=True)
