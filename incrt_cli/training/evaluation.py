"""Loss, accuracy and F1 on a split, one prediction a record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.batches import sequential_batches
from incrt_cli.data.task import EncodedSplit
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.device import precision, to_device
from incrt_cli.training.shortage import enough_memory


@dataclass(frozen=True)
class ClassScore:
    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class Predictions:
    """One entry a record: true and predicted class, log-loss (nats), whether training saw the same input."""

    truth: np.ndarray
    predicted: np.ndarray
    nll: np.ndarray
    seen: np.ndarray

    @property
    def loss(self) -> float:
        return float(self.nll.mean())

    @property
    def accuracy(self) -> float:
        return float((self.truth == self.predicted).mean())


def predict(
    model: Classifier, split: EncodedSplit, settings: TrainSection, device: torch.device
) -> Predictions:
    """Predict every record of `split`; a record cut into windows gets the mean of their log-probabilities.

    Raises ShortOfMemoryError.
    """
    training = model.training
    model.eval()
    rows = torch.empty(len(split), model.architecture.classes)
    with torch.no_grad(), precision(settings, device):
        for indices in sequential_batches(split.lengths, 4 * settings.rows_at_once):
            batch = to_device(split.batch(indices), device)
            with enough_memory("an evaluation", batch.tokens.shape, model, settings):
                logits = model(batch.tokens, batch.mask).float()
            rows[torch.from_numpy(indices)] = F.log_softmax(logits, dim=-1).cpu()
    model.train(training)
    return aggregate(rows.numpy(), split.labels, split.records, split.seen)


def aggregate(
    log_probs: np.ndarray, labels: np.ndarray, records: np.ndarray, seen: np.ndarray
) -> Predictions:
    """Rows (N × c) to records: windows share a number in `records` (N)."""
    _, first, of_row, windows = np.unique(records, return_index=True, return_inverse=True, return_counts=True)
    means = np.zeros((len(first), log_probs.shape[1]))
    np.add.at(means, of_row, log_probs)
    means /= windows[:, None]
    truth = labels[first]
    unseen_windows = np.bincount(of_row, weights=~seen, minlength=len(first))
    return Predictions(truth, means.argmax(axis=1), -means[np.arange(len(first)), truth], unseen_windows == 0)


def class_scores(truth: np.ndarray, predicted: np.ndarray, labels: list[str]) -> list[ClassScore]:
    """Precision, recall, F1 and support of every class; a ratio without a denominator is 0."""
    count = len(labels)
    confusion = np.bincount(truth * count + predicted, minlength=count * count).reshape(count, count)
    hits = confusion.diagonal().astype(float)
    support, claimed = confusion.sum(axis=1), confusion.sum(axis=0)
    return [
        ClassScore(
            label,
            precision=hits[i] / max(claimed[i], 1),
            recall=hits[i] / max(support[i], 1),
            f1=2.0 * hits[i] / max(support[i] + claimed[i], 1),
            support=int(support[i]),
        )
        for i, label in enumerate(labels)
    ]


def macro_f1(scores: list[ClassScore]) -> float:
    """Mean F1 over the classes that occur in the split."""
    return float(np.mean([score.f1 for score in scores if score.support > 0]))
