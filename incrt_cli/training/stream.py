"""Which rows every step trains on: a pure function of data, seed and step (no state to save for a resume)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import Config
from incrt_cli.data.batches import epoch_batches
from incrt_cli.data.shift import shift_of
from incrt_cli.data.task import EncodedSplit, Task

Ints = npt.NDArray[np.int64]
POPULATIONS = ("before", "after")  # the shift


class Stream:
    """Epochs of the first of `tasks` and, from step `shift_step` on, of the second (METHOD §8).

    `total_steps` and epochs are counted on the first, whatever the size of the second.
    """

    def __init__(self, tasks: Sequence[Task], config: Config) -> None:
        self.tasks = tuple(tasks)
        self._size, self._seed = config.train.batch_size, config.seed
        self._batches = [math.ceil(len(task.splits["train"]) / self._size) for task in self.tasks]
        self.batches_per_epoch = self._batches[0]
        self.total_steps = math.ceil(config.train.epochs * self.batches_per_epoch)
        self.shift_step = self.total_steps
        if len(self.tasks) > 1 and (shift := shift_of(config.data)):
            # Both sides get a step, however early or late the shift, where there are two.
            last = max(self.total_steps - 1, 0)
            self.shift_step = min(max(round(shift.at * self.total_steps), 1), last)
        self._order: tuple[tuple[int, int], list[Ints]] = ((-1, -1), [])

    @property
    def shifts(self) -> bool:
        return len(self.tasks) > 1

    def population(self, step: int) -> int:
        """0 before the shift, 1 from it on: what step number `step` (from 0) reads."""
        return int(self.shifts and step >= self.shift_step)

    def rows(self, step: int) -> tuple[EncodedSplit, Ints]:
        """The training split and its rows of step number `step`."""
        population = self.population(step)
        train = self.tasks[population].splits["train"]
        taken = step - population * self.shift_step
        epoch, place = divmod(taken, self._batches[population])
        if self._order[0] != (population, epoch):
            self._order = (population, epoch), epoch_batches(train.lengths, self._size, self._seed, epoch)
        return train, self._order[1][place]
