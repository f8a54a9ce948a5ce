"""Adding and removing heads of a bank, and adding a layer, while the optimiser keeps running.

Old heads keep their weights, corrections and optimiser moments bit for bit; a newborn starts with zero
moments. Parameters stay the same objects, so that the optimiser need not be told: what changes is how many
rows they have, of storages with room to spare (model/rows.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from incrt_cli.model.head_bank import HeadBank, HeadWeights
from incrt_cli.model.rows import append_rows, drop_row

HEAD_PARAMETERS = ("input_projection", "output_projection")
Edit = Callable[[Tensor], Tensor]


def add_head(bank: HeadBank, optimizer: Optimizer, head: HeadWeights) -> None:
    """Append `head` behind the others."""
    packed = bank.pack(head)
    own = bank.correct(packed[0], head.exempt)
    if bank.correction is not None and own is not None:
        bank.correction = append_rows(bank.correction, own)
    for name, rows in zip(HEAD_PARAMETERS, packed, strict=True):
        none = torch.zeros_like(rows)
        _edit(getattr(bank, name), optimizer, partial(append_rows, new=rows), partial(append_rows, new=none))


def remove_head(bank: HeadBank, optimizer: Optimizer, index: int) -> None:
    """Drop the head at `index`; the ones behind it move up."""
    drop = partial(drop_row, index=index)
    for name in HEAD_PARAMETERS:
        _edit(getattr(bank, name), optimizer, drop, drop)
    if bank.correction is not None:
        bank.correction = drop(bank.correction)


def set_heads(bank: HeadBank, optimizer: Optimizer, heads: int) -> None:
    """Make room for `heads` heads whose weights are yet to be loaded; what was there is lost."""

    def empty(old: Tensor) -> Tensor:
        return old.new_zeros((heads, *old.shape[1:]))

    for name in HEAD_PARAMETERS:
        _edit(getattr(bank, name), optimizer, empty, empty)
    if bank.correction is not None:
        bank.correction = empty(bank.correction)


def add_layer(optimizer: Optimizer, layer: nn.Module, below: nn.Module) -> None:
    """Train `layer` too, each parameter with the settings (weight decay, say) of its like in `below`."""
    like = dict(below.named_parameters())
    for name, parameter in layer.named_parameters():
        for group in optimizer.param_groups:
            if any(other is like[name] for other in group["params"]):
                group["params"].append(parameter)


def _edit(parameter: nn.Parameter, optimizer: Optimizer, weights: Edit, moments: Edit) -> None:
    """Give `parameter` and its moments other rows."""
    shape, edited = parameter.shape, weights(parameter.detach())
    parameter.grad = None
    # While the graph of an earlier step lives, so does the place where gradients arrive, and it expects their
    # old shape. It is given up for data of another type alone, so the parameter takes such for a moment.
    parameter.data = edited.new_empty(0, dtype=torch.half)
    parameter.data = edited
    # Moments have the parameter's shape; anything else (the step count) belongs to all heads alike.
    state = optimizer.state.get(parameter, {})
    for key, value in state.items():
        if isinstance(value, Tensor) and value.shape == shape:
            state[key] = moments(value)
