"""What the ranks compute of a step adds up to the step."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import EncodedSplit
from incrt_cli.data.token_rows import TokenRows
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.training.part import loss_of, part_of
from incrt_cli.training.ranks import Ranks

CPU = torch.device("cpu")
SETTINGS = TrainSection(label_smoothing=0.2)


def _split(lengths: list[int]) -> EncodedSplit:
    """Rows of these lengths, all of other tokens."""
    tokens = TokenRows(pa.chunked_array([[[2 + row + i for i in range(n)] for row, n in enumerate(lengths)]]))
    rows = np.arange(len(lengths))
    return EncodedSplit(tokens, np.array(lengths), rows % 3, rows, rows >= 0)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_losses_and_gradients_of_the_ranks_add_up_to_those_of_one(size: int) -> None:
    """Slices are padded to their own longest row, are of unequal size, and may be empty."""
    torch.manual_seed(0)
    model = Classifier(Architecture(32, 9, 3, width=8, head_width=4, value_width=4, heads=(2,)))
    split, rows = _split([3, 9, 4, 4, 7]), np.arange(5)
    tokens, mask, labels = split.batch(rows)
    whole = torch.nn.functional.cross_entropy(model(tokens, mask), labels, label_smoothing=0.2)
    expected = torch.autograd.grad(whole, list(model.parameters()))
    parts = [part_of(split, rows, Ranks(rank, size), CPU) for rank in range(size)]
    assert sum(part.batch is None for part in parts) == max(0, size - len(rows))
    total = torch.stack([loss_of(model, part, SETTINGS, CPU) for part in parts]).sum()
    torch.testing.assert_close(total, whole)
    for found, wanted in zip(torch.autograd.grad(total, list(model.parameters())), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)
