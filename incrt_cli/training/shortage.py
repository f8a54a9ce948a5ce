"""Memory that runs out is told with what was being computed, and with what can be done about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import numpy as np

from incrt_cli.config.schema import TrainSection
from incrt_cli.errors import ShortOfMemoryError, out_of_memory
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.reserved import looked_at


@contextmanager
def enough_memory(
    doing: str, shape: Sequence[int], model: Classifier, settings: TrainSection, pieces: bool = True
) -> Iterator[None]:
    """Rows pass through `model` together in here, as many and at most as long as `shape` (B, n) says.
    `pieces`: how many follows from train.batch_size and train.accumulate.

    Raises ShortOfMemoryError where an allocator refuses; every other error passes.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        rows, tokens = shape
        raise ShortOfMemoryError(
            f"not enough memory for {doing} with {rows_text(rows, tokens)} at a time and "
            f"{heads_text(model.head_counts)} ({_reason(error)}); {advice(settings, pieces)}"
        ) from error


def enough_to_look(
    lengths: np.ndarray, model: Classifier, settings: TrainSection
) -> AbstractContextManager[None]:
    """The same for a look of the gate at some of the rows of these `lengths`."""
    longest = int(lengths.max())
    return enough_memory("a look of the gate", (looked_at(longest), longest), model, settings, pieces=False)


@contextmanager
def naming_step(place: Callable[[], str]) -> Iterator[None]:
    """`place`, asked when memory has run out, comes first in the message."""
    try:
        yield
    except ShortOfMemoryError as error:
        raise ShortOfMemoryError(f"{place()}: {error}") from error


def heads_text(counts: Sequence[int]) -> str:
    """Heads of the layers, from the bottom up."""
    return "1 head" if sum(counts) == 1 else f"{' + '.join(map(str, counts))} heads"


def rows_text(rows: int, tokens: int) -> str:
    return f"{rows} row{'' if rows == 1 else 's'} of up to {tokens:,} tokens"


def _reason(error: BaseException) -> str:
    # torch puts the place in its sources in front, and advice for programmers behind.
    found = re.search(r"(tried|unable) to allocate [\d.,]+ \w+", str(error), re.IGNORECASE)
    return found[0] if found else str(error).split("\n")[0] or type(error).__name__


def advice(settings: TrainSection, pieces: bool = True, recomputing: bool = True) -> str:
    """First what a resume takes, where `pieces` and `recomputing` help; then what makes it another run."""
    free = []
    if pieces and settings.accumulate < settings.batch_size:
        free.append(f"raise train.accumulate ({settings.accumulate} now)")
    if recomputing and not settings.recompute:
        free.append("set train.recompute=true")
    rows = "train.batch_size" if pieces else "model.width"
    others = f"lower {rows}, data.max_tokens or gate.max_heads in another run"
    return ", or ".join([" or ".join(free), others] if free else [others])
