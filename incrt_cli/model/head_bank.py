"""All heads of a layer in single tensors (METHOD §1).

    Σ_h softmax(Z M_h Zᵀ + mask) Z W_V^h W_O^h,   M_h = W_Q W_Kᵀ/√d_k

The head index comes first, so a birth appends rows, a prune drops rows, and the projections of all
heads are one contiguous matrix product. A sum over heads, not a mean: a mean would rescale every old
head at each birth. No biases: the bilinear form M_h has none.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from incrt_cli.geometry.conditioning import Conditioning, Projection, correction


class HeadWeights(NamedTuple):
    """One head's projections, all d rows first: `w_q`, `w_k` d × d_k, `w_v` d × d_v; `w_o` d_v × d.

    `exempt`: projections that conditioning leaves as they are.
    """

    w_q: Tensor
    w_k: Tensor
    w_v: Tensor
    w_o: Tensor
    exempt: tuple[Projection, ...] = ()


class HeadBank(nn.Module):
    """`input_projection` K × (2 d_k + d_v) × d: W_Qᵀ, W_Kᵀ, W_Vᵀ. `output_projection` K × d_v × d: W_O.

    `correction`, shaped like `input_projection`, is what conditioning adds to it (METHOD §9): fixed, no
    parameter, but saved with the model; None without conditioning. Everything that reads a head's form
    or values goes through `projection`, `w_q`, `w_k`, which contain it.
    """

    correction: Tensor | None

    def __init__(
        self,
        width: int,
        head_width: int,
        value_width: int,
        heads: int,
        conditioning: Conditioning | None = None,
    ) -> None:
        super().__init__()
        self.width, self.head_width, self.value_width = width, head_width, value_width
        rows = 2 * head_width + value_width
        self.input_projection = nn.Parameter(torch.randn(heads, rows, width) / width**0.5)
        self.output_projection = nn.Parameter(
            torch.randn(heads, value_width, width) / (heads * value_width) ** 0.5
        )
        self.conditioning = conditioning
        self.register_buffer("correction", self.correct(self.input_projection.detach()))

    @property
    def heads(self) -> int:
        return self.input_projection.shape[0]

    @property
    def projection(self) -> Tensor:
        """The effective weights of all heads, K × (2 d_k + d_v) × d."""
        if self.correction is None:
            return self.input_projection
        return self.input_projection + self.correction

    def split(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows K × (2 d_k + d_v) × d as queries and keys K × d × d_k and values K × d × d_v."""
        q, k, v = torch.split(rows.mT, [self.head_width, self.head_width, self.value_width], dim=2)
        return q, k, v

    def correct(self, rows: Tensor, exempt: tuple[Projection, ...] = ()) -> Tensor | None:
        """The correction of heads that start as `rows` (K × (2 d_k + d_v) × d); None without conditioning."""
        if self.conditioning is None:
            return None
        targets = set(self.conditioning.targets) - set(exempt)
        parts = [
            correction(weights, self.conditioning) if name in targets else torch.zeros_like(weights)
            for name, weights in zip(get_args(Projection), self.split(rows), strict=True)
        ]
        return torch.cat(parts, dim=2).mT.contiguous()

    @property
    def w_q(self) -> Tensor:
        """K × d × d_k."""
        return self.split(self.projection)[0]

    @property
    def w_k(self) -> Tensor:
        """K × d × d_k."""
        return self.split(self.projection)[1]

    def pack(self, head: HeadWeights) -> tuple[Tensor, Tensor]:
        """`head` as rows of the two parameters: 1 × (2 d_k + d_v) × d and 1 × d_v × d."""
        rows = torch.cat([head.w_q.T, head.w_k.T, head.w_v.T]).unsqueeze(0)
        return rows.to(self.input_projection), head.w_o.unsqueeze(0).to(self.output_projection)

    def forward(self, z: Tensor, mask: Tensor | None) -> Tensor:
        """Sum of the heads' outputs (B × n × d) for `z` B × n × d; `mask` B × n is True at real tokens."""
        projection = self.projection
        batch, tokens, width = z.shape
        heads, rows, _ = projection.shape
        projected = F.linear(z, projection.reshape(heads * rows, width)).view(batch, tokens, heads, rows)
        widths = [self.head_width, self.head_width, self.value_width]
        # Cut before the heads come to the front: the gradients are then joined as the product wants them.
        q, k, v = (part.transpose(1, 2) for part in torch.split(projected, widths, dim=-1))
        keys = None if mask is None else mask[:, None, None, :]
        mixed = _attention(q, k, v, keys)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, heads * self.value_width)
        return mixed @ self.output_projection.reshape(heads * self.value_width, width)


def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q kᵀ/√d_k) v (B × K × n × d_v) for `q`, `k` B × K × n × d_k and `v` B × K × n × d_v."""
    head_width, value_width = q.shape[-1], v.shape[-1]
    if head_width == value_width:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    # The kernels that never hold an n × n matrix ask for equal widths; zeros change neither q kᵀ nor values.
    widest = max(head_width, value_width)
    q, k, v = (F.pad(part, (0, widest - part.shape[-1])) for part in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=head_width**-0.5)
    return mixed[..., :value_width]
