"""Complexity along training, beside the generalisation gap that it is meant to say something about."""

from __future__ import annotations

from typing import Any

from incrt_cli.complexity.classifier import classifier_weights
from incrt_cli.complexity.figures import totals
from incrt_cli.complexity.weights import measure
from incrt_cli.data.task import EncodedSplit
from incrt_cli.training.evaluation import Predictions, predict
from incrt_cli.training.prepare import Prepared


def complexity_row(prepared: Prepared, train: EncodedSplit, validation: Predictions | None) -> dict[str, Any]:
    """Heads, both factors, and loss and accuracy on the training and validation splits without dropout.

    The running loss of training will not do for the gap: it is that of earlier weights, under dropout.
    """
    model, config = prepared.model, prepared.config
    measured = measure(classifier_weights(model))
    fitted = predict(model, train, config.train, prepared.device)
    return {
        "kind": "complexity",
        "heads": sum(measured.heads),
        **totals(measured.complexity),
        "train_loss": fitted.loss,
        "train_accuracy": fitted.accuracy,
        "validation_loss": validation.loss if validation else None,
        "validation_accuracy": validation.accuracy if validation else None,
    }
