"""What one process reads of a step, and its part of the loss.

L = Σ_r (B_r/B) · mean_{i in slice r} ℓ_i
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import Batch, EncodedSplit
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.device import precision, to_device
from incrt_cli.training.ranks import Ranks


class Part(NamedTuple):
    """The rows of this process (None: it has none) and their share B_r/B of those of all ranks."""

    batch: Batch | None
    share: float


class Reading(NamedTuple):
    """What a step reads: `rows` of `split`, of which `part` is this process's."""

    split: EncodedSplit
    rows: np.ndarray
    part: Part


def part_of(train: EncodedSplit, rows: np.ndarray, ranks: Ranks, device: torch.device) -> Part:
    """This rank's part of the step that reads `rows` of `train`."""
    own = ranks.own(rows)
    return Part(to_device(train.batch(own), device) if len(own) else None, len(own) / len(rows))


def reading_of(train: EncodedSplit, rows: np.ndarray, ranks: Ranks, device: torch.device) -> Reading:
    """The step that reads `rows` of `train`; a function of its arguments alone, so any thread may call it."""
    return Reading(train, rows, part_of(train, rows, ranks, device))


def loss_of(model: Classifier, part: Part, settings: TrainSection, device: torch.device) -> torch.Tensor:
    """This process's term of L (nats): over all ranks the terms add up to the loss of the step."""
    if part.batch is None:
        return torch.zeros((), device=device)
    with precision(settings, device):
        logits = model(part.batch.tokens, part.batch.mask)
    mean = F.cross_entropy(logits.float(), part.batch.labels, label_smoothing=settings.label_smoothing)
    return part.share * mean
