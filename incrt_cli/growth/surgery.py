"""Adding and removing heads of a bank, and adding a layer, while the optimiser keeps running.

Old heads keep their weights, corrections and optimiser moments bit for bit; a newborn starts with zero
moments.
The optimiser holds exactly the model's parameters before and after.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from incrt_cli.model.head_bank import HeadBank, HeadWeights

HEAD_PARAMETERS = ("input_projection", "output_projection")
Edit = Callable[[Tensor], Tensor]


def add_head(bank: HeadBank, optimizer: Optimizer, head: HeadWeights) -> None:
    """Append `head` behind the others."""
    packed = bank.pack(head)
    own = bank.correct(packed[0], head.exempt)
    if bank.correction is not None and own is not None:
        bank.correction = torch.cat([bank.correction, own])
    for name, rows in zip(HEAD_PARAMETERS, packed, strict=True):
        _replace(bank, optimizer, name, _append(rows), _append(torch.zeros_like(rows)))


def remove_head(bank: HeadBank, optimizer: Optimizer, index: int) -> None:
    """Drop the head at `index`; the ones behind it move up."""
    kept = [i for i in range(bank.heads) if i != index]
    for name in HEAD_PARAMETERS:
        _replace(bank, optimizer, name, lambda old: old[kept], lambda old: old[kept])
    if bank.correction is not None:
        bank.correction = bank.correction[kept]


def set_heads(bank: HeadBank, optimizer: Optimizer, heads: int) -> None:
    """Make room for `heads` heads whose weights are yet to be loaded; what was there is lost."""

    def empty(old: Tensor) -> Tensor:
        return old.new_zeros((heads, *old.shape[1:]))

    for name in HEAD_PARAMETERS:
        _replace(bank, optimizer, name, empty, empty)
    if bank.correction is not None:
        bank.correction = empty(bank.correction)


def add_layer(optimizer: Optimizer, layer: nn.Module, below: nn.Module) -> None:
    """Train `layer` too, each parameter with the settings (weight decay, say) of its like in `below`."""
    like = dict(below.named_parameters())
    for name, parameter in layer.named_parameters():
        for group in optimizer.param_groups:
            if any(other is like[name] for other in group["params"]):
                group["params"].append(parameter)


def _append(rows: Tensor) -> Edit:
    return lambda old: torch.cat([old, rows])


def _replace(bank: HeadBank, optimizer: Optimizer, name: str, weights: Edit, moments: Edit) -> None:
    """Swap parameter `name` for an edited copy, in the bank, in its parameter group and in its state."""
    old: nn.Parameter = getattr(bank, name)
    new = nn.Parameter(weights(old.detach()))
    setattr(bank, name, new)
    for group in optimizer.param_groups:
        group["params"] = [new if parameter is old else parameter for parameter in group["params"]]
    if old in optimizer.state:
        state = optimizer.state.pop(old)
        # Moments have the parameter's shape; anything else (the step count) belongs to all heads alike.
        optimizer.state[new] = {
            key: moments(value) if isinstance(value, Tensor) and value.shape == old.shape else value
            for key, value in state.items()
        }
