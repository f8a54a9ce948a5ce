"""What one process reads of a step, in pieces, and its part of the loss.

L = Σ_p (B_p/B) · mean_{i in piece p} ℓ_i,   ∇L = Σ_p ∇L_p

The pieces of all processes are those of the step, and their gradients add up to its gradient, up to rounding;
only the activations of one piece are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import Batch, EncodedSplit
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.device import precision, to_device
from incrt_cli.training.ranks import Ranks
from incrt_cli.training.shortage import enough_memory


class Part(NamedTuple):
    """Rows that pass through the model together, and their share B_p/B of those of all ranks."""

    batch: Batch
    share: float


class Reading(NamedTuple):
    """What a step reads: `rows` of `split`, of which `parts` are this process's."""

    split: EncodedSplit
    rows: np.ndarray
    parts: list[Part]


def parts_of(
    train: EncodedSplit, rows: np.ndarray, ranks: Ranks, pieces: int, device: torch.device
) -> list[Part]:
    """This rank's slice of the step that reads `rows` of `train`, in at most `pieces` pieces of like size.

    None of them is empty, and there are none where there are fewer rows than ranks.
    """
    own = ranks.own(rows)
    cut = np.array_split(own, min(pieces, len(own))) if len(own) else []
    return [Part(to_device(train.batch(piece), device), len(piece) / len(rows)) for piece in cut]


def reading_of(
    train: EncodedSplit, rows: np.ndarray, ranks: Ranks, pieces: int, device: torch.device
) -> Reading:
    """The step that reads `rows` of `train`; a function of its arguments alone, so any thread may call it."""
    return Reading(train, rows, parts_of(train, rows, ranks, pieces, device))


def loss_of(model: Classifier, part: Part, settings: TrainSection, device: torch.device) -> torch.Tensor:
    """The term of L (nats) of one part."""
    with precision(settings, device):
        logits = model(part.batch.tokens, part.batch.mask)
    mean = F.cross_entropy(logits.float(), part.batch.labels, label_smoothing=settings.label_smoothing)
    return part.share * mean


def add_up(
    model: Classifier, parts: Sequence[Part], settings: TrainSection, device: torch.device
) -> torch.Tensor:
    """The terms of L of all `parts`; their gradients are added to the model's where gradients are enabled.

    Raises ShortOfMemoryError.
    """
    total = torch.zeros((), device=device)
    for part in parts:
        with enough_memory("a step", part.batch.tokens.shape, model, settings):
            loss = loss_of(model, part, settings, device)
            if loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
        total += loss.detach()
    return total
