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

from typing import NamedTuple

import torch
from torch import Tensor

from incrt_cli.geometry.view import View, along, onto, sums, thinned

# Sequences without which there is no telling which of several directions is the surest.
_LEAST = 64


class Direction(NamedTuple):
    """`query` u, `key` w and `output` o, S of them as columns (d × S)."""

    query: Tensor
    key: Tensor
    output: Tensor


class Search(NamedTuple):
    """`starts` places climb `screening` rounds on one of `every` sequences (on all where these are few), and
    the surest `finalists` of them go on for `rounds` on all.
    """

    starts: int
    screening: int
    every: int
    finalists: int
    rounds: int


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


def propose(
    view: View, search: Search, generator: torch.Generator, warm: Direction | None = None
) -> Direction:
    """The surest direction (d × 1) of those that alternating power iterations reach by `search`, from `warm`
    (d × 1) where it is given, and from random places.
    """
    shape = (view.z.shape[-1], search.starts if warm is None else search.starts - 1)
    parts = [_unit(torch.randn(shape, generator=generator).to(view.z)) for _ in range(3)]
    if warm is not None:
        parts = [torch.cat([old, new], dim=1) for old, new in zip(warm, parts, strict=True)]
    first = thinned(view, search.every) if len(view.lengths) >= _LEAST * search.every else view
    hopeful = _Climb(first, Direction(*parts), search.screening).surest(search.finalists)
    return _Climb(view, hopeful, search.rounds).surest(1)


def scores(view: View, direction: Direction) -> tuple[Tensor, Tensor]:
    """α and b of every sequence (N × S each)."""
    alpha = _alpha(view, along(view.pull, direction.output), along(view.z, direction.query))
    return alpha, _spread(view, along(view.z, direction.key))[0]


def judge(view: View, direction: Direction) -> Evidence:
    """Is the rate of one `direction`, proposed elsewhere, above zero on these sequences?"""
    alpha, beta = scores(view, direction)
    return evidence((alpha * _centred(beta))[:, 0].double())


class _Climb:
    """Directions `rounds` rounds up q from `start`, with the tokens along each: `keys`, `pulls`, `queries`
    T × S.
    """

    def __init__(self, view: View, start: Direction, rounds: int) -> None:
        self._view, self._direction = view, start
        self._keys, self._pulls = along(view.z, start.key), along(view.pull, start.output)
        self._queries = torch.empty(0) if rounds else along(view.z, start.query)  # a round begins with them
        self._places = torch.repeat_interleave(view.lengths)  # each token's sequence
        for _ in range(rounds):
            self._round()

    def surest(self, count: int) -> Direction:
        """The `count` surest of the directions, their sign that of a loss that falls.

        Not the steepest: a few sequences with much pull can make a steep one.
        """
        figures = _alpha(self._view, self._pulls, self._queries) * _centred(
            _spread(self._view, self._keys)[0]
        )
        certainty = (figures.mean(dim=0) / figures.std(dim=0)).nan_to_num()
        best = certainty.abs().topk(min(count, len(certainty))).indices
        query, key, output = (part[:, best] for part in self._direction)
        return Direction(query, key, output * torch.where(certainty[best] < 0.0, -1.0, 1.0))

    def _round(self) -> None:
        """Each of u, o, w to the gradient of q with the others fixed, at unit length."""
        view = self._view
        spread, mean = _spread(view, self._keys)
        weight = self._of_tokens(_centred(spread))
        query = _unit(onto(view.z, self._pulls * weight))
        self._queries = along(view.z, query)
        output = _unit(onto(view.pull, self._queries * weight))
        self._pulls = along(view.pull, output)
        weight = _centred(_alpha(view, self._pulls, self._queries)) / view.lengths[:, None]
        # Σ over sequences of weight · C w.
        key = _unit(onto(view.z, (self._keys - self._of_tokens(mean)) * self._of_tokens(weight)))
        self._keys = along(view.z, key)
        self._direction = Direction(query, key, output)

    def _of_tokens(self, figures: Tensor) -> Tensor:
        return figures.index_select(0, self._places)


def _alpha(view: View, pulls: Tensor, queries: Tensor) -> Tensor:
    return sums(pulls * queries, view.lengths)


def _spread(view: View, keys: Tensor) -> tuple[Tensor, Tensor]:
    """b = wᵀ C w of every sequence, and the mean of w·z over its tokens (N × S each)."""
    lengths = view.lengths[:, None]
    mean = sums(keys, view.lengths) / lengths
    return sums(keys.square(), view.lengths) / lengths - mean.square(), mean


def _centred(figures: Tensor) -> Tensor:
    return figures - figures.mean(dim=0)


def _unit(columns: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(columns, dim=0)
    return columns / lengths.clamp_min(torch.finfo(columns.dtype).tiny)
