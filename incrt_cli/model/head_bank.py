"""All heads of a layer in single tensors (METHOD §1).

    Σ_h softmax(Z M_h Zᵀ + mask) Z W_V^h W_O^h,   M_h = W_Q W_Kᵀ/√d_k

The head index comes first, so a birth appends rows, a prune drops rows, and the projections of all
heads are one contiguous matrix product. A sum over heads, not a mean: a mean would rescale every old
head at each birth. No biases: the bilinear form M_h has none.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class HeadWeights(NamedTuple):
    """One head's projections, all d rows first: `w_q`, `w_k` d × d_k, `w_v` d × d_v; `w_o` d_v × d."""

    w_q: Tensor
    w_k: Tensor
    w_v: Tensor
    w_o: Tensor


class HeadBank(nn.Module):
    """`input_projection` K × (2 d_k + d_v) × d: W_Qᵀ, W_Kᵀ, W_Vᵀ. `output_projection` K × d_v × d: W_O."""

    def __init__(self, width: int, head_width: int, value_width: int, heads: int) -> None:
        super().__init__()
        self.width, self.head_width, self.value_width = width, head_width, value_width
        rows = 2 * head_width + value_width
        self.input_projection = nn.Parameter(torch.randn(heads, rows, width) / width**0.5)
        self.output_projection = nn.Parameter(
            torch.randn(heads, value_width, width) / (heads * value_width) ** 0.5
        )

    @property
    def heads(self) -> int:
        return self.input_projection.shape[0]

    @property
    def w_q(self) -> Tensor:
        """K × d × d_k."""
        return self.input_projection[:, : self.head_width].transpose(1, 2)

    @property
    def w_k(self) -> Tensor:
        """K × d × d_k."""
        return self.input_projection[:, self.head_width : 2 * self.head_width].transpose(1, 2)

    def pack(self, head: HeadWeights) -> tuple[Tensor, Tensor]:
        """`head` as rows of the two parameters: 1 × (2 d_k + d_v) × d and 1 × d_v × d."""
        rows = torch.cat([head.w_q.T, head.w_k.T, head.w_v.T]).unsqueeze(0)
        return rows.to(self.input_projection), head.w_o.unsqueeze(0).to(self.output_projection)

    def forward(self, z: Tensor, mask: Tensor | None, bias: Tensor | None = None) -> Tensor:
        """Sum of the heads' outputs (B × n × d) for `z` B × n × d; `mask` B × n is True at real tokens.

        `bias` B × n × n is added to the scores of every head.
        """
        mixed = mix(self.input_projection, self.head_width, z, mask, bias)
        return mixed @ self.output_projection.reshape(-1, self.width)


def mix(
    projection: Tensor, head_width: int, z: Tensor, mask: Tensor | None, bias: Tensor | None = None
) -> Tensor:
    """Attention-weighted values (B × n × K d_v) of heads given as `projection` (K × (2 d_k + d_v) × d)."""
    batch, tokens, width = z.shape
    heads, rows, _ = projection.shape
    value_width = rows - 2 * head_width
    projected = F.linear(z, projection.reshape(heads * rows, width))
    projected = projected.view(batch, tokens, heads, rows).transpose(1, 2)
    q, k, v = torch.split(projected, [head_width, head_width, value_width], dim=-1)
    keys = None if mask is None else mask[:, None, None, :]
    if bias is not None:
        keys = bias.unsqueeze(1) if keys is None else bias.unsqueeze(1).masked_fill(~keys, float("-inf"))
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=keys)
    return mixed.transpose(1, 2).reshape(batch, tokens, heads * value_width)
