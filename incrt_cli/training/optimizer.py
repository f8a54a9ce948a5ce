"""AdamW over a growing model."""

from __future__ import annotations

import torch
from torch import nn

from incrt_cli.config.schema import TrainSection

# The step count, and with it Adam's bias correction, belongs to all heads of a bank alike, so a newborn's
# moments are not corrected. With β₂ = 0.99 its first update is (1 − β₁)/√(1 − β₂) = 1 learning rate all the
# same; with the usual 0.999 it would be three.
BETAS = (0.9, 0.99)


def build_optimizer(model: nn.Module, settings: TrainSection) -> torch.optim.AdamW:
    """Weight decay on matrices, none on norms and biases."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    # Fused: one pass over weights, gradient and moments. Otherwise each term is a pass of its own on the CPU.
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=BETAS, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate
