"""AdamW in one fused pass."""

from __future__ import annotations

import torch
from torch import nn

from incrt_cli.config.schema import TrainSection
from incrt_cli.training.optimizer import build_optimizer, set_learning_rate


def test_at_rate_zero_weights_stay_bit_for_bit_while_moments_go_on() -> None:
    torch.manual_seed(0)
    model = nn.Linear(33, 7)
    optimizer = build_optimizer(model, TrainSection(weight_decay=0.5))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for rate, same in ((0.0, True), (0.0, True), (0.1, False)):
        set_learning_rate(optimizer, rate)
        optimizer.zero_grad()
        model(torch.randn(4, 33)).square().sum().backward()
        optimizer.step()
        assert all(map(torch.equal, before, model.parameters())) == same
    assert all(optimizer.state[parameter]["exp_avg"].all() for parameter in model.parameters())
