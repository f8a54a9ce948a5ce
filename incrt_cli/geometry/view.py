"""Sequences of one layer as the task shows them: the tokens its heads read and the pull on what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from incrt_cli.geometry.operator import project_rows_out


class View(NamedTuple):
    """A layer's N sequences, one behind the other: `z` and `pull` T × d, the tokens of all; `lengths` N."""

    z: Tensor
    pull: Tensor
    lengths: Tensor


def packed(z: Tensor, pull: Tensor, mask: Tensor | None) -> View:
    """The real tokens of B × n × d; `mask` B × n is True at them, None where all are."""
    if mask is None:
        lengths = torch.full((len(z),), z.shape[1], device=z.device)
        return View(z.flatten(0, 1), pull.flatten(0, 1), lengths)
    return View(z[mask], pull[mask], mask.sum(dim=1))


def joined(views: Sequence[View]) -> View:
    """All their sequences in one."""
    return View(*(torch.cat(parts) for parts in zip(*views, strict=True)))


def outside(view: View, basis: Tensor) -> View:
    """The view with what queries and keys read projected out of `basis` Q (d × r)."""
    if not basis.shape[1]:
        return view
    return view._replace(z=project_rows_out(basis.to(view.z), view.z))


def thinned(view: View, every: int) -> View:
    """Every `every`-th sequence, the first one included; of an order by length, a sample of all lengths."""
    if every == 1:
        return view
    kept = torch.arange(len(view.lengths), device=view.z.device) % every == 0
    tokens = torch.repeat_interleave(kept, view.lengths)
    return View(view.z[tokens], view.pull[tokens], view.lengths[kept])


# A few columns times many tokens: as rows, up to several times as fast as as columns (MKL, 2 to 8 of them).
def along(tokens: Tensor, columns: Tensor) -> Tensor:
    """`tokens` (T × d) along each of `columns` (d × S): T × S."""
    return (columns.T @ tokens.T).T.contiguous()


def onto(tokens: Tensor, figures: Tensor) -> Tensor:
    """Σ over tokens (T × d) of `figures` (T × S) times them: d × S."""
    return (figures.T @ tokens).T


def sums(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Over the tokens (T × S) of each sequence: N × S."""
    # A bag is a sequence here: several times as fast as index_add, and its order of summation is fixed.
    every = torch.arange(len(tokens), device=tokens.device)
    return F.embedding_bag(every, tokens, lengths.cumsum(0) - lengths, mode="sum")
