"""Which head a direction belongs to, and whether it may capture that plane: growth of level 2 (METHOD §7).

    share_h = uᵀ sym(C M_a^h) u / uᵀ A u,   Σ_h share_h = 1

A form of rank d_k has a motor of at most d_k/2 planes that a head can turn on its own, so no head has room
for more than ⌊d_k/2⌋.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.spectrum import Extremes, Spectrum


def attribution(op: DirectionalOperator, u: Tensor, heads: int) -> Tensor:
    """`uᵀ sym(C M_a^h) u` of every head (K); their sum is uᵀ A u. `u` is d, `heads` K.

    With c = C u a head's part is ½ (cᵀL_h R_hᵀu − cᵀR_h L_hᵀu), so no head's form is made.
    """
    c = op.second_moment @ u
    terms = 0.5 * ((op.left.T @ c) * (op.right.T @ u) - (op.right.T @ c) * (op.left.T @ u))
    return terms.reshape(heads, -1).sum(dim=1)


def most_planes(op: DirectionalOperator, heads: int) -> int:
    """`⌊d_k/2⌋`: the planes that each of the `heads` heads of `op` can capture in all."""
    return op.left.shape[1] // heads // 2


def holder(op: DirectionalOperator, found: Extremes, room: Sequence[int], share: float) -> int | None:
    """The head, by its place in `op`, that the direction `found` belongs to; None where one is to be born.

    It holds most of the direction, `share` of it at least, and `room` (planes; one entry a head) is left.
    """
    shares = attribution(op, found.u_plus, len(room)) / found.lambda_max
    best = int(shares.argmax())
    return best if room[best] > 0 and float(shares[best]) >= share else None


def absorbed_planes(
    op: DirectionalOperator, spectrum: Spectrum, planes: int, heads: int, share: float
) -> int:
    """How many of the first `planes` planes the `heads` heads of `op` capture, the strongest first."""
    room, absorbed = [most_planes(op, heads)] * heads, 0
    for rank in range(planes):
        head = holder(op, spectrum.extremes(rank), room, share)
        if head is not None:
            room[head] -= 1
            absorbed += 1
    return absorbed
