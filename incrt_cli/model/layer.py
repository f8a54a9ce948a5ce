"""A pre-norm layer: X ← X + heads(LN X), then an optional feed-forward block (METHOD §1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.model.head_bank import HeadBank

Observer = Callable[[Tensor, Tensor | None], None]
Heads = Callable[[Tensor, Tensor | None], Tensor]  # from what they read and the mask to their sum
Tap = Callable[[Heads, Tensor, Tensor | None], Tensor]
Block = Callable[["Layer", Tensor, Tensor | None], tuple[Tensor, Tensor]]


class Layer(nn.Module):
    """`observer`, when set, receives Z (B × n × d, what the heads read) and the mask of each forward pass;
    `tap`, when set, computes the heads' output in the bank's stead; `compiled`, when set, stands for `block`
    in training steps.

    With `recompute` the activations inside of the bank and of the feed-forward are not kept for backward,
    which computes them again. What observer and tap see lies outside of both, so neither is called twice.
    """

    def __init__(
        self,
        width: int,
        head_width: int,
        value_width: int,
        heads: int,
        ffn_multiplier: float,
        dropout: float,
        conditioning: Conditioning | None = None,
        layer_norm: bool = True,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.recompute = recompute
        self.norm = norm(width, layer_norm)
        self.bank = HeadBank(width, head_width, value_width, heads, conditioning)
        self.dropout = nn.Dropout(dropout)
        hidden = round(width * ffn_multiplier)
        self.ffn = _feed_forward(width, hidden, dropout, layer_norm) if ffn_multiplier > 0 else None
        self.observer: Observer | None = None
        self.tap: Tap | None = None
        self.compiled: Block | None = None

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """B × n × d to B × n × d; `mask` B × n is True at real tokens, None where all are."""
        if self.compiled is not None and self.tap is None and self.training and torch.is_grad_enabled():
            x, z = self.compiled(self, x, mask)
        else:
            x, z = self.block(x, mask)
        if self.observer is not None:
            self.observer(z.detach(), mask)
        return x

    def block(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """What `forward` returns, and Z."""
        z = self.norm(x)
        heads = self._heads(z, mask) if self.tap is None else self.tap(self._heads, z, mask)
        x = x + self.dropout(heads)
        return (x if self.ffn is None else x + self._pass(self.ffn, x)), z

    def _heads(self, z: Tensor, mask: Tensor | None) -> Tensor:
        return self._pass(self.bank, z, mask)

    def _pass(self, block: nn.Module, *inputs: Tensor | None) -> Tensor:
        """The output of `block`; dropout draws the same when it is computed again."""
        if self.recompute and torch.is_grad_enabled():
            output: Tensor = checkpoint(block, *inputs, use_reentrant=False)
        else:
            output = block(*inputs)
        return output

    @torch.no_grad()
    def make_identity(self) -> None:
        """Zero what each block writes: W_O, and the last linear map of the feed-forward."""
        self.bank.output_projection.zero_()
        if self.ffn is not None:
            last = [module for module in self.ffn if isinstance(module, nn.Linear)][-1]
            last.weight.zero_()
            last.bias.zero_()


def norm(width: int, present: bool) -> nn.Module:
    """A LayerNorm, or nothing in its place."""
    return nn.LayerNorm(width) if present else nn.Identity()


def _feed_forward(width: int, hidden: int, dropout: float, layer_norm: bool) -> nn.Sequential:
    return nn.Sequential(
        norm(width, layer_norm),
        nn.Linear(width, hidden),
        nn.GELU(),
        nn.Linear(hidden, width),
        nn.Dropout(dropout),
    )
