"""Part `layer`: a bank of heads, forward and backward, against torch's layer and a loop over heads."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import torch
from torch import Tensor, nn

from incrt_cli.bench.formulations import HeadByHead, furthest, reference
from incrt_cli.bench.measurement import Context, Found, Measurement, seconds_of
from incrt_cli.bench.timing import Work, side_by_side
from incrt_cli.model.head_bank import HeadBank
from incrt_cli.training.device import precision

WIDTHS, HEADS = (128, 256, 768), (16, 64, 130)
_NAMED = (256, 130)  # the shape of `loop_ratio`
_QUICK_WIDTHS, _QUICK_HEADS, _QUICK_NAMED = (32,), (4, 6), (32, 6)
_HEAD_WIDTH = 16  # where d/K is no integer, or less than 2
_ROUNDING = 1e-4  # float32, over sums of up to a thousand terms
_PADDING = 5  # of the tokens of each sequence, in the masked case
_OURS, _MASKED, _LOOP = "bank", "bank, masked", "loop over heads"


def layers(context: Context) -> Found:
    """`layer_ratio` is the worst of all shapes, `loop_ratio` (loop over bank) that of d = 256, K = 130."""
    widths, heads = (_QUICK_WIDTHS, _QUICK_HEADS) if context.quick else (WIDTHS, HEADS)
    found = Found()
    ratios, loops = [], {}
    for width, count in product(widths, heads):
        measured = _one(context, width, count)
        found.measurements += measured
        # In the order of the works: bank, reference, both masked, and the loop.
        ratios.append(measured[0].ratio)
        loops[width, count] = measured[-1].ratio
    found.figures["layer_ratio"] = max(ratio for ratio in ratios if ratio is not None)
    found.figures["loop_ratio"] = loops[_QUICK_NAMED if context.quick else _NAMED]
    return found


def head_width(width: int, heads: int) -> int:
    """d/K where that is an integer ≥ 2, else 16."""
    whole, rest = divmod(width, heads)
    return whole if rest == 0 and whole >= 2 else _HEAD_WIDTH


def _one(context: Context, width: int, heads: int) -> list[Measurement]:
    batch, tokens = (4, 16) if context.quick else (16, 64)
    torch.manual_seed(context.config.seed)
    own = head_width(width, heads)
    bank = HeadBank(width, own, own, heads).to(context.device)
    z = torch.randn(batch, tokens, width, device=context.device, requires_grad=True)
    mask = torch.ones(batch, tokens, dtype=torch.bool, device=context.device)
    mask[:, tokens - _PADDING :] = False
    other, loop = reference(bank), HeadByHead(bank)
    _require_equal(bank, other, loop, z, mask)
    name = "MultiheadAttention" if own * heads == width else "fused operations"
    works = {
        _OURS: _pass(context, bank, z, None),
        name: _pass(context, other, z, None),
        _MASKED: _pass(context, bank, z, mask),
        f"{name}, masked": _pass(context, other, z, mask),
    }
    timings = side_by_side(works, context.effort, context.clock)
    # The heaviest loops take many seconds, and are one of several times: one round of those is enough.
    least = context.effort.least if (width, heads) == _NAMED else 1
    few = replace(context.effort, least=least, seconds=context.effort.seconds / 2, warm_up=0)
    looped = {_OURS: works[_OURS], _LOOP: _pass(context, loop, z, None)}
    shape = {"B": batch, "n": tokens, "d": width, "K": heads, "d_k": own}
    return [
        *seconds_of("layer", {key: timings[key] for key in (_OURS, name)}, shape, name),
        *seconds_of("layer", {key: timings[key] for key in list(works)[2:]}, shape, f"{name}, masked"),
        seconds_of("layer", side_by_side(looped, few, context.clock), shape, _OURS)[1],
    ]


def _require_equal(bank: HeadBank, other: nn.Module, loop: nn.Module, z: Tensor, mask: Tensor) -> None:
    """A ratio of two computations means nothing unless they compute the same."""
    for name, found in {
        "reference": furthest(bank, other, z, None),
        "masked reference": furthest(bank, other, z, mask),
        "loop": furthest(bank, loop, z, None),
    }.items():
        assert found < _ROUNDING, f"the {name} differs by {found:g} at d = {bank.width}, K = {bank.heads}"


def _pass(context: Context, module: nn.Module, z: Tensor, mask: Tensor | None) -> Work:
    """Forward in the config's precision, and backward."""

    def work() -> None:
        module.zero_grad(set_to_none=True)
        z.grad = None
        with precision(context.config.train, context.device):
            output = module(z, mask)
        output.sum().backward()

    return work
