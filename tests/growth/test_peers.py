"""Growth of a model that several processes train: sums are added, decisions compared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from incrt_cli.config.schema import GateSection
from incrt_cli.data.task import Batch
from incrt_cli.growth.controller import GrowthController
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.growth.operations import Losses
from incrt_cli.growth.peers import Peers
from incrt_cli.model.classifier import Architecture, Classifier


def test_the_second_moment_is_that_of_the_rows_of_all_processes() -> None:
    z, mask = torch.randn(6, 5, 4), torch.arange(5) < torch.tensor([[5], [3], [1], [4], [2], [5]])
    whole, other = (RunningMoment(4, 0.9, torch.device("cpu")) for _ in range(2))
    sums: list[list[Tensor]] = []

    def add(tensors: Sequence[Tensor]) -> None:
        for mine, theirs in zip(tensors, sums.pop(), strict=True):
            mine += theirs

    kept = RunningMoment(4, 0.9, torch.device("cpu"), Peers(add))
    for step in range(2):
        whole(z * (step + 1), mask)
        kept(z[:2] * (step + 1), mask[:2])
        other(z[2:] * (step + 1), mask[2:])
        sums.append([other._sum.clone(), other._count.clone(), other._sequences.clone()])
        for moment in (whole, kept, other):
            moment.fold()
    torch.testing.assert_close(kept.value, whole.value, rtol=1e-5, atol=1e-6)
    assert kept.tokens == pytest.approx(whole.tokens)


def test_nothing_is_born_before_all_have_decided_the_same() -> None:
    torch.manual_seed(0)
    model = Classifier(Architecture(20, 6, 2, width=8, head_width=4, value_width=4, heads=(1,)))
    heard: list[str] = []

    def agree(what: str) -> None:
        heard.append(what)
        if what.startswith("grow"):
            raise RuntimeError("others have not")

    gate = GateSection(variant="paper", tracker="exact", growth_fraction=0.01, check_every=1)
    controller = GrowthController(
        model, torch.optim.AdamW(model.parameters()), gate, seed=0, peers=Peers(agree=agree)
    )
    controller.calibrate([Batch(torch.randint(2, 20, (16, 6)), None, torch.zeros(16, dtype=torch.long))])
    with pytest.raises(RuntimeError, match="others have not"):
        for step in range(1, 9):
            controller.check(step, Losses(0.0, lambda: 0.0))
    assert heard[-1].startswith("grow in layer 0 at step ") and model.head_counts == [1]
