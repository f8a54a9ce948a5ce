"""Which rows every step trains on: a pure function of data, seed and step (no state to save for a resume)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import Config
from incrt_cli.data.batches import epoch_batches
from incrt_cli.data.shift import shift_of
from incrt_cli.data.task import EncodedSplit, Task

Ints = npt.NDArray[np.int64]
POPULATIONS = ("before", "after")  # the shift


class Phase(NamedTuple):
    """From step `first` on, epochs run over `split`, of the task number `population`."""

    first: int
    split: EncodedSplit
    population: int


class Stream:
    """Epochs of the first of `tasks` and, from step `shift_step` on, of the second (METHOD §8).

    Where a gate reserves records, growth lasts up to step `growth_ends` and reads `growth_rows`; all training
    records are read from there on. `total_steps` and epochs are counted on the first task's.
    """

    def __init__(
        self, tasks: Sequence[Task], config: Config, growth_rows: EncodedSplit | None = None
    ) -> None:
        self.tasks = tuple(tasks)
        self._size, self._seed = config.train.batch_size, config.seed
        train = self.tasks[0].splits["train"]
        self.batches_per_epoch = self._batches(train)
        self.total_steps = math.ceil(config.train.epochs * self.batches_per_epoch)
        self.growth_ends = self.shift_step = self.total_steps
        self._phases = [Phase(0, train if growth_rows is None else growth_rows, 0)]
        if growth_rows is not None:
            self.growth_ends = math.ceil(config.gate.until * self.total_steps)
            self._phases.append(Phase(self.growth_ends, train, 0))
        if self.shifts and (shift := shift_of(config.data)):
            # Both sides get a step, however early or late the shift, where there are two.
            last = max(self.total_steps - 1, 0)
            self.shift_step = min(max(round(shift.at * self.total_steps), 1), last)
            self._phases.append(Phase(self.shift_step, self.tasks[1].splits["train"], 1))
        self._order: tuple[tuple[int, int], list[Ints]] = ((-1, -1), [])

    @property
    def shifts(self) -> bool:
        return len(self.tasks) > 1

    def population(self, step: int) -> int:
        """0 before the shift, 1 from it on: what step number `step` (from 0) reads."""
        return self._phases[self._number(step)].population

    def rows(self, step: int) -> tuple[EncodedSplit, Ints]:
        """The training split and its rows of step number `step`."""
        number = self._number(step)
        first, split, _ = self._phases[number]
        epoch, place = divmod(step - first, self._batches(split))
        if self._order[0] != (number, epoch):
            # Epochs are counted on from the phases before: not the order that the last phase began with.
            order = epoch_batches(split.lengths, self._size, self._seed, self._begun(number) + epoch)
            self._order = (number, epoch), order
        return split, self._order[1][place]

    def _number(self, step: int) -> int:
        return max(i for i, phase in enumerate(self._phases) if phase.first <= step)

    def _begun(self, number: int) -> int:
        """Epochs begun in the phases before number `number`."""
        ends = [phase.first for phase in self._phases[1 : number + 1]]
        return sum(
            math.ceil((end - phase.first) / self._batches(phase.split))
            for phase, end in zip(self._phases[:number], ends, strict=True)
        )

    def _batches(self, split: EncodedSplit) -> int:
        return math.ceil(len(split) / self._size)
