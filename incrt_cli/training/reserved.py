"""The rows that a gate which asks the task looks at: training rows to propose, reserved ones to judge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from incrt_cli.config.schema import Config
from incrt_cli.data.batches import batches_within
from incrt_cli.data.task import Batch, EncodedSplit
from incrt_cli.errors import UserError
from incrt_cli.growth.probe import Draw, Rows
from incrt_cli.training.device import to_device

# Few enough that a batch's rows are of like lengths, many enough that a call's overhead is small.
_POSITIONS = 1 << 12


def looked_at(longest: int) -> int:
    """How many rows of `longest` tokens pass together in a look."""
    return max(1, _POSITIONS // longest)


def set_apart(train: EncodedSplit, rows: int, seed: int) -> tuple[EncodedSplit, EncodedSplit]:
    """`train` without some records, and those: about `rows` rows, windows of a record together."""
    records = np.unique(train.records)
    count = min(round(len(records) * rows / len(train)), len(records) // 5)
    chosen = np.random.default_rng([seed, 1]).permutation(records)[:count]
    held = np.isin(train.records, chosen)
    return train.subset(np.flatnonzero(~held)), train.subset(np.flatnonzero(held))


def drawer(train: EncodedSplit, judges: EncodedSplit, config: Config, device: torch.device) -> Rows:
    """Training rows drawn anew for each look, as a function of seed and step, and all of `judges`.

    Raises UserError where `judges` are too few to judge by.
    """
    _require_judges(judges, len(train) + len(judges))

    def batches(split: EncodedSplit, rows: np.ndarray) -> Iterator[Batch]:
        for part in batches_within(split.lengths[rows], _POSITIONS):
            yield to_device(split.batch(rows[part]), device)

    def draw(step: int) -> Draw:
        order = np.random.default_rng([config.seed, 2, step]).permutation(len(train))
        search = order[: config.gate.search_rows]
        return Draw(batches(train, search), batches(judges, np.arange(len(judges))))

    return draw


def _require_judges(judges: EncodedSplit, rows: int) -> None:
    # One record has no spread, so no direction could be held against it.
    if len(np.unique(judges.records)) < 2:
        raise UserError(
            "gate.variant: significance reserves gate.probe_rows of the training rows, and at most a fifth "
            f"of the records: of {rows:,} that leaves fewer than 2 records to judge by; give more data or "
            "raise gate.probe_rows, or take gate.variant=paper"
        )
