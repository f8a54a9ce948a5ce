"""Tensors whose rows come and go: a storage with room to spare, of which the leading rows are live.

    capacity ≥ rows;  full: capacity ← 2 rows

Growing row by row from 1 to n moves the tensor ⌈log₂ n⌉ times. What lies behind the live rows is undefined
and never part of a result: the tensor is a view of the live rows alone. How many rows fit is read off the
storage, so that nothing has to be kept beside the tensor. A tensor given here must therefore own its
storage: a slice of something else would be taken for one with room.
"""

from __future__ import annotations

import torch
from torch import Tensor


def capacity(rows: Tensor) -> int:
    """Rows that the storage of `rows` (r × …) holds; r where it does not begin with them."""
    row = rows[:1].numel() * rows.element_size()
    if row == 0 or rows.storage_offset() != 0 or not rows.is_contiguous():
        return len(rows)
    return rows.untyped_storage().nbytes() // row


@torch.no_grad()
def append_rows(rows: Tensor, new: Tensor) -> Tensor:
    """`rows` (r × …) with `new` (s × …) behind, in the same storage where that has room."""
    count = len(rows) + len(new)
    if capacity(rows) >= count:
        longer = rows.detach().as_strided((count, *rows.shape[1:]), rows.stride())
    else:
        longer = rows.new_empty((max(2 * len(rows), count), *rows.shape[1:]))[:count]
        longer[: len(rows)] = rows
    longer[len(rows) :] = new
    return longer


@torch.no_grad()
def drop_row(rows: Tensor, index: int) -> Tensor:
    """`rows` without the one at `index`; those behind it move up in the storage that they have."""
    kept = rows.detach()
    # Source and target overlap, which a copy of tensors does not allow for.
    kept[index:-1] = kept[index + 1 :].clone()
    return kept[:-1]
