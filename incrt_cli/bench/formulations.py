"""The same attention written in four ways, with the same weights: what a layer is measured against.

Σ_h softmax(Z M_h Zᵀ) Z W_V^h W_O^h,   M_h = W_Q W_Kᵀ/√d_k
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from incrt_cli.model.head_bank import HeadBank

Attend = Callable[
    [Tensor, Tensor | None], Tensor
]  # Z (B × n × d) and mask (B × n, True: a token) to B × n × d


class Fused(nn.Module):
    """One product for all queries, keys and values, torch's attention, one product for the outputs."""

    def __init__(self, bank: HeadBank) -> None:
        super().__init__()
        self._heads = bank.heads
        self.inputs, self.outputs = (nn.Parameter(part) for part in _stacked(bank))

    def forward(self, z: Tensor, mask: Tensor | None) -> Tensor:
        batch, tokens, _ = z.shape
        parts = F.linear(z, self.inputs).chunk(3, dim=-1)
        q, k, v = (part.view(batch, tokens, self._heads, -1).transpose(1, 2) for part in parts)
        keys = None if mask is None else mask[:, None, None, :]
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=keys)
        return F.linear(mixed.transpose(1, 2).reshape(batch, tokens, -1), self.outputs)


class TorchLayer(nn.Module):
    """`torch.nn.MultiheadAttention`, which there is where K d_k = d."""

    def __init__(self, bank: HeadBank) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(bank.width, bank.heads, bias=False, batch_first=True)
        inputs, outputs = _stacked(bank)
        assert self.layer.in_proj_weight is not None
        self.layer.in_proj_weight = nn.Parameter(inputs)
        self.layer.out_proj.weight = nn.Parameter(outputs)

    def forward(self, z: Tensor, mask: Tensor | None) -> Tensor:
        padding = None if mask is None else ~mask
        mixed: Tensor = self.layer(z, z, z, key_padding_mask=padding, need_weights=False)[0]
        return mixed


class HeadByHead(nn.Module):
    """A loop over modules of one head each, as in the INCRT author's notebook: every head forms its M."""

    def __init__(self, bank: HeadBank) -> None:
        super().__init__()
        self.heads = nn.ModuleList(_OneHead(*parts) for parts in zip(*_parts(bank), strict=True))

    def forward(self, z: Tensor, mask: Tensor | None) -> Tensor:
        """Without `mask`, which the notebook does not know."""
        total = torch.zeros_like(z)
        for head in self.heads:
            total = total + head(z)
        return total


class _OneHead(nn.Module):
    def __init__(self, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Parameter(p.clone()) for p in (w_q, w_k, w_v, w_o))

    def forward(self, z: Tensor) -> Tensor:
        form = self.w_q @ self.w_k.T / self.w_q.shape[1] ** 0.5
        return torch.softmax(z @ form @ z.mT, dim=-1) @ (z @ self.w_v) @ self.w_o


def reference(bank: HeadBank) -> Fused | TorchLayer:
    """What `bank` is held against: torch's own layer where there is one of its shape."""
    whole = bank.heads * bank.head_width == bank.width and bank.head_width == bank.value_width
    return TorchLayer(bank) if whole else Fused(bank)


def furthest(one: Attend, other: Attend, z: Tensor, mask: Tensor | None) -> float:
    """Largest difference of the two outputs over the real tokens, in units of the largest output."""
    with torch.no_grad():
        first, second = one(z, mask), other(z, mask)
    if mask is not None:
        first, second = first[mask], second[mask]
    return float((first - second).abs().max() / first.abs().max())


def _parts(bank: HeadBank) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W_Q, W_K (K × d × d_k), W_V (K × d × d_v), W_O (K × d_v × d)."""
    w_q, w_k, w_v = bank.split(bank.projection.detach())
    return w_q, w_k, w_v, bank.output_projection.detach()


def _stacked(bank: HeadBank) -> tuple[Tensor, Tensor]:
    """Weights of two `F.linear`: all queries, then keys, then values (3 K d_k × d), and d × K d_v."""
    *inputs, outputs = _parts(bank)
    rows = torch.cat([part.mT.reshape(-1, bank.width) for part in inputs])
    return rows.contiguous(), outputs.reshape(-1, bank.width).T.contiguous()
