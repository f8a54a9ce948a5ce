"""Part `inference`: sequences a second of a model that only predicts."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from incrt_cli.bench.drive import changed, ready
from incrt_cli.bench.measurement import Context, Found, rate_of
from incrt_cli.bench.timing import side_by_side
from incrt_cli.data.task import Batch
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.device import precision, to_device
from incrt_cli.training.prepare import Prepared

_BATCHES, _QUICK_BATCHES = (1, 8, 64, 256), (1, 8)


def inference(context: Context) -> Found:
    """`inference_sequences_s`: {batch size: sequences/s} on training rows, forward passes alone."""
    prepared = ready(changed(context.config, {"model.heads": context.heads, "gate.enabled": False}))
    model = prepared.model.eval()
    sizes = _QUICK_BATCHES if context.quick else _BATCHES
    works = {str(size): partial(_predict, prepared, model, _rows(prepared, size)) for size in sizes}
    with torch.no_grad():
        timings = side_by_side(works, context.effort, context.clock)
    found = Found()
    for size, timing in zip(sizes, timings.values(), strict=True):
        shape = {"B": size, "d": context.config.model.width, "K": context.heads}
        found.measurements.append(rate_of("inference", "forward pass", timing, size, "sequences/s", shape))
    rates = zip(sizes, found.measurements, strict=True)
    found.figures["inference_sequences_s"] = {size: measured.median for size, measured in rates}
    return found


def _rows(prepared: Prepared, size: int) -> Batch:
    """The first rows of the training split, over again where it has fewer."""
    train = prepared.task.splits["train"]
    return to_device(train.batch(np.arange(size) % len(train)), prepared.device)


def _predict(prepared: Prepared, model: Classifier, batch: Batch) -> None:
    with precision(prepared.config.train, prepared.device):
        model(batch.tokens, batch.mask)
