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

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class View(NamedTuple):
    """A layer's sequences: `z` and `pull` B × n × d, zero at padding; `lengths` B."""

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


def outside(views: Sequence[View], basis: Tensor) -> list[View]:
    """The views with what queries and keys read projected out of `basis` Q (d × r)."""
    basis = basis.to(views[0].z)
    return [view._replace(z=view.z - view.z @ basis @ basis.T) for view in views]


def propose(
    views: Sequence[View], starts: int, rounds: int, generator: torch.Generator, warm: Direction | None = None
) -> Direction:
    """The surest direction (d × 1) of those that alternating power iterations reach from `starts` random ones
    and from `warm` (d × 1).
    """
    first = views[0].z
    shape = (first.shape[-1], starts)
    parts = [_unit(torch.randn(shape, generator=generator).to(first)) for _ in range(3)]
    if warm is not None:
        parts = [torch.cat([old, new], dim=1) for old, new in zip(warm, parts, strict=True)]
    direction = Direction(*parts)
    for _ in range(rounds):
        direction = _climb(views, direction)
    alpha, beta = scores(views, direction)
    figures = alpha * (beta - beta.mean(dim=0))
    # The surest of the maxima and not the steepest: a few sequences with much pull can make a steep one.
    certainty = figures.mean(dim=0) / figures.std(dim=0)
    best = int(certainty.abs().argmax())
    sign = -1.0 if certainty[best] < 0.0 else 1.0
    query, key, output = (part[:, [best]] for part in direction)
    return Direction(query, key, sign * output)


def scores(views: Sequence[View], direction: Direction) -> tuple[Tensor, Tensor]:
    """α and b of every sequence (N × S each)."""
    alphas, betas = [], []
    for view in views:
        alphas.append(((view.pull @ direction.output) * (view.z @ direction.query)).sum(dim=1))
        along = view.z @ direction.key
        lengths = view.lengths[:, None]
        betas.append(along.square().sum(dim=1) / lengths - (along.sum(dim=1) / lengths).square())
    return torch.cat(alphas), torch.cat(betas)


def judge(views: Sequence[View], direction: Direction) -> Evidence:
    """Is the rate of one `direction`, proposed elsewhere, above zero on these sequences?"""
    alpha, beta = scores(views, direction)
    return evidence((alpha * (beta - beta.mean(dim=0)))[:, 0].double())


def _climb(views: Sequence[View], direction: Direction) -> Direction:
    """One round: each of u, o, w to the gradient of q with the others fixed, at unit length."""
    query, key, output = direction
    beta = _centred(scores(views, direction)[1], views)
    pairs = list(zip(views, beta, strict=True))
    query = _unit(_total(_weighted(v.z, v.pull @ output, b) for v, b in pairs))
    output = _unit(_total(_weighted(v.pull, v.z @ query, b) for v, b in pairs))
    alpha = _centred(scores(views, Direction(query, key, output))[0], views)
    key = _unit(_total(_covariance(v, key, a) for v, a in zip(views, alpha, strict=True)))
    return Direction(query, key, output)


def _centred(figures: Tensor, views: Sequence[View]) -> Sequence[Tensor]:
    return torch.split(figures - figures.mean(dim=0), [len(view.lengths) for view in views])


def _total(terms: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(terms)).sum(dim=0)


def _weighted(tokens: Tensor, along: Tensor, weight: Tensor) -> Tensor:
    """Σ over sequences of weight Σ_a token_a along_a: d × S."""
    return tokens.flatten(0, 1).T @ (along * weight[:, None, :]).flatten(0, 1)


def _covariance(view: View, key: Tensor, weight: Tensor) -> Tensor:
    """Σ over sequences of weight · C w: d × S."""
    along = view.z @ key
    scale = weight / view.lengths[:, None]
    mean = along.sum(dim=1) / view.lengths[:, None]
    # Padding is zero in z, so centring one factor is enough.
    return view.z.flatten(0, 1).T @ ((along - mean[:, None, :]) * scale[:, None, :]).flatten(0, 1)


def _unit(columns: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(columns, dim=0)
    return columns / lengths.clamp_min(torch.finfo(columns.dtype).tiny)
