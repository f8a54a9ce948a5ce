"""Which training rows a step sees: a pure function of the step, so that a run can go on from any of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from incrt_cli.data.batches import epoch_batches
from incrt_cli.data.task import Batch, EncodedSplit


class Phase(NamedTuple):
    """From step `first` on, epochs run over `split`."""

    first: int
    split: EncodedSplit


class Feed:
    """Batches of `phases`, in order of their first steps; the first phase begins at step 0."""

    def __init__(self, phases: Sequence[Phase], batch_size: int, seed: int) -> None:
        self._phases, self._batch_size, self._seed = phases, batch_size, seed
        self._epoch: tuple[tuple[int, int], list[np.ndarray]] | None = None  # what was cut last

    def batch(self, step: int) -> Batch:
        """The batch of `step` (0 …). A phase begins an epoch of its own, whatever the last one had left."""
        number = max(i for i, phase in enumerate(self._phases) if phase.first <= step)
        first, split = self._phases[number]
        epoch, position = divmod(step - first, math.ceil(len(split) / self._batch_size))
        if self._epoch is None or self._epoch[0] != (number, epoch):
            # Not the order that the last phase began with: epochs are counted on from there.
            order = epoch_batches(split.lengths, self._batch_size, self._seed, self._begun(number) + epoch)
            self._epoch = (number, epoch), order
        return split.batch(self._epoch[1][position])

    def _begun(self, number: int) -> int:
        """Epochs begun in the phases before."""
        ends = [phase.first for phase in self._phases[1 : number + 1]]
        return sum(
            math.ceil((end - first) / math.ceil(len(split) / self._batch_size))
            for (first, split), end in zip(self._phases[:number], ends, strict=True)
        )
