"""Newborns on many planes, all with the same weights beside the plane and on the same rows (METHOD §6).

A draw has one noise for W_Q's further columns and one W_V for all planes, and both signs of the motor: the
sign of an eigenvector is arbitrary, and the newborn's form changes with it. A plane's score in a draw is the
mean over both signs [ours].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from incrt_cli.data.batches import epoch_batches, sequential_batches
from incrt_cli.data.task import Batch, EncodedSplit
from incrt_cli.diagnosis.newborns import Nursery, Rows, newborn_bank
from incrt_cli.diagnosis.planes import Plane
from incrt_cli.diagnosis.subject import Subject
from incrt_cli.errors import UserError
from incrt_cli.growth.birth import newborn_head
from incrt_cli.model.layer import Layer
from incrt_cli.training.device import to_device
from incrt_cli.training.reserved import set_apart

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_JUDGES = 1024  # rows
_FIRST_EPOCH = 1_000_000  # of a draw's batches; the epochs of a run are smaller numbers
_TURNS = ((1.0, 1.0), (1.0, -1.0))


class Trial:
    """The rows, the same for every plane: steps and gradients on training rows, judged on others."""

    def __init__(self, subject: Subject, layer: Layer, steps: int, tokens: float) -> None:
        self._subject, self._layer, self._steps, self._tokens = subject, layer, steps, tokens
        settings = subject.config.train
        self._train, judges, self.judged_on = _split(subject)
        self._nursery = Nursery(subject.model, layer, settings)
        rows = np.random.default_rng([subject.config.seed, 4]).permutation(len(judges))[:_JUDGES]
        self.judged_rows = len(rows)
        order = [rows[part] for part in sequential_batches(judges.lengths[rows], 4 * settings.rows_at_once)]
        self._judges = [self._nursery.rows(batch) for batch in batches(judges, order, subject.device)]
        self.before = self._nursery.mean_loss(self._judges)

    def scores(self, planes: Sequence[Plane], seed: int, number: int) -> Floats:
        """NTK, unbiased NTK and practical scores of `planes` (3 × P): means over both signs of the motor."""
        looks = [self._oriented(planes, torch.tensor(turn), seed, number) for turn in _TURNS]
        mean: Floats = np.mean(looks, axis=0)
        return mean

    def _oriented(self, planes: Sequence[Plane], turn: Tensor, seed: int, number: int) -> Floats:
        bank = self._layer.bank
        newborns = []
        for plane in planes:
            noise = torch.Generator().manual_seed(seed)  # anew for each plane: the same noise for all
            directions = plane.directions * turn.to(plane.directions)
            newborns.append(newborn_head(directions, bank.head_width, bank.value_width, self._tokens, noise))
        calibration = self._subject.config.gate.calibration_batches
        gradients = self._nursery.gradient_scores(
            newborn_bank(bank, newborns), self._drawn(number, calibration)
        )
        steps = list(self._drawn(number, self._steps))
        decreases = [
            self._nursery.decrease(newborn_bank(bank, [head]), steps, self._judges, self.before)
            for head in newborns
        ]
        return np.stack([gradients.plain.numpy(), gradients.unbiased.numpy(), np.array(decreases)])

    def _drawn(self, number: int, count: int) -> Iterator[Rows]:
        """The first `count` training batches of draw `number`; as many epochs as that takes."""

        def order() -> Iterator[Ints]:
            size, seed = self._subject.config.train.batch_size, self._subject.config.seed
            epoch = _FIRST_EPOCH * number
            while True:
                yield from epoch_batches(self._train.lengths, size, seed, epoch)
                epoch += 1

        for batch in batches(self._train, islice(order(), count), self._subject.device):
            yield self._nursery.rows(batch)


def _split(subject: Subject) -> tuple[EncodedSplit, EncodedSplit, str]:
    """Rows for the steps, rows that judge, and what the latter are."""
    splits = subject.task.splits
    if len(splits["validation"]):
        return splits["train"], splits["validation"], "validation"
    rest, judges = set_apart(splits["train"], _JUDGES, subject.config.seed)
    if not len(judges):
        raise UserError(f"{len(splits['train'])} training rows are too few to set some apart as judges")
    return rest, judges, "training rows set apart"


def batches(split: EncodedSplit, order: Iterable[Ints], device: torch.device) -> Iterator[Batch]:
    for rows in order:
        yield to_device(split.batch(rows), device)
