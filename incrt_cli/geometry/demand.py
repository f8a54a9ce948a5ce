"""What a head that does not exist yet could do for the task, and whether it is real [ours].

A newborn with form M = u wᵀ, values along w and outputs along o moves, to first order around uniform
attention, token a of a sequence by (u·z_a) b o with b = wᵀ C w, C the sequence's own covariance of z. With
the pull p_a = −∂L/∂(heads' output at a), the loss then falls at the rate

    q = E[α β],    α = Σ_a (p_a·o)(u·z_a),    β = b − E b

over sequences; the mean of b is left out because the present heads could use it without any attention. The
covariance is symmetric, so the best values lie along the keys. `propose` climbs q over unit u, w, o on some
sequences; on others, which had no say, α β has mean 0 where there is no demand: its t is an honest test.

METHOD §4.2 takes the gradient of a form shared by the present heads instead. Where these are trained it
vanishes on their own directions (Dᵀ W_Q = D W_K = 0) whether or not another head would help.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class View(NamedTuple):
    """A layer's N sequences, one behind the other: `z` and `pull` T × d, the tokens of all; `lengths` N."""

    z: Tensor
    pull: Tensor
    lengths: Tensor


class Direction(NamedTuple):
    """`query` u, `key` w and `output` o, S of them as columns (d × S)."""

    query: Tensor
    key: Tensor
    output: Tensor


class Evidence(NamedTuple):
    """Mean of n independent figures, its standard error and their ratio t."""

    mean: float
    error: float
    t: float


def evidence(figures: Tensor) -> Evidence:
    """Student's t of `figures` (n); infinite only where they agree exactly and are not zero."""
    mean, error = float(figures.mean()), float(figures.std() / len(figures) ** 0.5)
    if error > 0.0:
        return Evidence(mean, error, mean / error)
    return Evidence(mean, 0.0, 0.0 if mean == 0.0 else float("inf") * mean)


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
    basis = basis.to(view.z)
    return view._replace(z=view.z - view.z @ basis @ basis.T)


def propose(
    view: View, starts: int, rounds: int, generator: torch.Generator, warm: Direction | None = None
) -> Direction:
    """The surest direction (d × 1) of those that alternating power iterations reach from `starts` places:
    `warm` (d × 1) where it is given, and random ones.
    """
    shape = (view.z.shape[-1], starts if warm is None else starts - 1)
    parts = [_unit(torch.randn(shape, generator=generator).to(view.z)) for _ in range(3)]
    if warm is not None:
        parts = [torch.cat([old, new], dim=1) for old, new in zip(warm, parts, strict=True)]
    climb = _Climb(view, Direction(*parts))
    for _ in range(rounds):
        climb.round()
    figures = _alpha(view, climb.pulls, climb.queries) * _centred(_spread(view, climb.keys)[0])
    # The surest of the maxima and not the steepest: a few sequences with much pull can make a steep one.
    certainty = figures.mean(dim=0) / figures.std(dim=0)
    best = int(certainty.abs().argmax())
    sign = -1.0 if certainty[best] < 0.0 else 1.0
    query, key, output = (part[:, [best]] for part in climb.direction)
    return Direction(query, key, sign * output)


def scores(view: View, direction: Direction) -> tuple[Tensor, Tensor]:
    """α and b of every sequence (N × S each)."""
    alpha = _alpha(view, view.pull @ direction.output, view.z @ direction.query)
    return alpha, _spread(view, view.z @ direction.key)[0]


def judge(view: View, direction: Direction) -> Evidence:
    """Is the rate of one `direction`, proposed elsewhere, above zero on these sequences?"""
    alpha, beta = scores(view, direction)
    return evidence((alpha * _centred(beta))[:, 0].double())


class _Climb:
    """Directions on their way up q, with the tokens along each: `queries`, `keys` and `pulls` T × S."""

    def __init__(self, view: View, start: Direction) -> None:
        self._view, self.direction = view, start
        self.keys, self.pulls = view.z @ start.key, view.pull @ start.output
        self.queries = torch.empty(0)
        self._places = torch.repeat_interleave(view.lengths)  # each token's sequence

    def round(self) -> None:
        """Each of u, o, w to the gradient of q with the others fixed, at unit length."""
        view = self._view
        spread, mean = _spread(view, self.keys)
        weight = self._of_tokens(_centred(spread))
        query = _unit(view.z.T @ (self.pulls * weight))
        self.queries = view.z @ query
        output = _unit(view.pull.T @ (self.queries * weight))
        self.pulls = view.pull @ output
        weight = _centred(_alpha(view, self.pulls, self.queries)) / view.lengths[:, None]
        # Σ over sequences of weight · C w.
        key = _unit(view.z.T @ ((self.keys - self._of_tokens(mean)) * self._of_tokens(weight)))
        self.keys = view.z @ key
        self.direction = Direction(query, key, output)

    def _of_tokens(self, figures: Tensor) -> Tensor:
        return figures.index_select(0, self._places)


def _alpha(view: View, pulls: Tensor, queries: Tensor) -> Tensor:
    return _sums(pulls * queries, view.lengths)


def _spread(view: View, keys: Tensor) -> tuple[Tensor, Tensor]:
    """b = wᵀ C w of every sequence, and the mean of w·z over its tokens (N × S each)."""
    lengths = view.lengths[:, None]
    mean = _sums(keys, view.lengths) / lengths
    return _sums(keys.square(), view.lengths) / lengths - mean.square(), mean


def _sums(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Over the tokens (T × S) of each sequence: N × S."""
    # A bag is a sequence here: several times as fast as index_add, and its order of summation is fixed.
    every = torch.arange(len(tokens), device=tokens.device)
    return F.embedding_bag(every, tokens, lengths.cumsum(0) - lengths, mode="sum")


def _centred(figures: Tensor) -> Tensor:
    return figures - figures.mean(dim=0)


def _unit(columns: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(columns, dim=0)
    return columns / lengths.clamp_min(torch.finfo(columns.dtype).tiny)
