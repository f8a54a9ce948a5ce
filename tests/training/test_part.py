"""What ranks and pieces compute of a step adds up to the step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
import torch

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import EncodedSplit
from incrt_cli.data.token_rows import TokenRows
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.training.part import Part, add_up, parts_of
from incrt_cli.training.ranks import Ranks

CPU = torch.device("cpu")
SETTINGS = TrainSection(label_smoothing=0.2)


def _split(lengths: list[int]) -> EncodedSplit:
    """Rows of these lengths, all of other tokens."""
    tokens = TokenRows(pa.chunked_array([[[2 + row + i for i in range(n)] for row, n in enumerate(lengths)]]))
    rows = np.arange(len(lengths))
    return EncodedSplit(tokens, np.array(lengths), rows % 3, rows, rows >= 0)


SPLIT = _split([3, 9, 4, 4, 7])
ROWS = np.arange(5)


def _model(recompute: bool = False, dropout: float = 0.0) -> Classifier:
    torch.manual_seed(0)
    shape = Architecture(
        32, 9, 3, width=8, head_width=4, value_width=4, heads=(2, 3), ffn_multiplier=2.0, dropout=dropout
    )
    return Classifier(shape, recompute).double()


def _step(model: Classifier, parts: Sequence[Part]) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
    """Loss, gradients, and C of the upper layer."""
    moment = RunningMoment(8, 0.9, CPU)
    model.attention_layers[-1].observer = moment
    loss = add_up(model, parts, SETTINGS, CPU)
    return loss, [p.grad for p in model.parameters() if p.grad is not None], moment.fold()


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("pieces", [1, 2, 4, 100])
def test_losses_and_gradients_of_ranks_and_pieces_add_up_to_those_of_the_whole(
    size: int, pieces: int
) -> None:
    """Pieces are padded to their own longest row, are of unequal size, and a rank may have none."""
    model = _model()
    tokens, mask, labels = SPLIT.batch(ROWS)
    whole = torch.nn.functional.cross_entropy(model(tokens, mask), labels, label_smoothing=0.2)
    expected = torch.autograd.grad(whole, list(model.parameters()))
    of_ranks = [parts_of(SPLIT, ROWS, Ranks(rank, size), pieces, CPU) for rank in range(size)]
    assert sum(not parts for parts in of_ranks) == max(0, size - len(ROWS))
    assert max(len(parts) for parts in of_ranks) == min(pieces, -(-len(ROWS) // size))
    total = torch.stack([add_up(model, parts, SETTINGS, CPU) for parts in of_ranks]).sum()
    torch.testing.assert_close(total.double(), whole, rtol=0.0, atol=1e-6)
    for weights, wanted in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(weights.grad, wanted, rtol=1e-6, atol=1e-6)


def test_c_of_a_step_is_that_of_the_whole_whatever_its_pieces() -> None:
    one, many = (_step(_model(), parts_of(SPLIT, ROWS, Ranks(), pieces, CPU))[2] for pieces in (1, 3))
    torch.testing.assert_close(one, many, rtol=1e-6, atol=1e-6)


def test_without_gradients_the_loss_is_the_same_and_nothing_is_added() -> None:
    model, parts = _model(), parts_of(SPLIT, ROWS, Ranks(), 2, CPU)
    with torch.no_grad():
        loss = add_up(model, parts, SETTINGS, CPU)
    assert all(p.grad is None for p in model.parameters())
    assert float(loss) == float(add_up(model, parts, SETTINGS, CPU))


@pytest.mark.parametrize("pieces", [1, 2])
def test_recomputed_activations_are_those_that_were_not_kept(pieces: int) -> None:
    """Bit for bit, dropout in and around the blocks included; the observer hears of each piece once."""
    found = []
    for recompute in (False, True):
        model = _model(recompute, dropout=0.3)
        parts = parts_of(SPLIT, ROWS, Ranks(), pieces, CPU)
        torch.manual_seed(1)
        found.append(_step(model, parts))
    (loss, gradients, c), (again, recomputed, other_c) = found
    assert torch.equal(loss, again) and torch.equal(c, other_c)
    assert len(gradients) == len(list(model.parameters()))
    assert all(torch.equal(one, other) for one, other in zip(gradients, recomputed, strict=True))
