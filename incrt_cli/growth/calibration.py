"""Calibration of layers that are about to grow, on weights that stand still (METHOD §3)."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import torch

from incrt_cli.data.task import Batch
from incrt_cli.geometry.operator import directional_operator, energy
from incrt_cli.growth.operations import Site
from incrt_cli.model.classifier import Classifier


def initial_energies(model: Classifier, sites: Sequence[Site], batches: Iterable[Batch]) -> list[float]:
    """Γ⁽⁰⁾ of every layer of `sites`: the median over `batches`, whose C its running mean begins with."""
    gammas: list[list[float]] = [[] for _ in sites]
    device = next(model.parameters()).device
    model.train()
    observe(sites, True)
    # With dropout, as at every later look: without it Γ⁽⁰⁾ would be larger by what dropout takes away.
    with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        for batch in batches:
            model(batch.tokens, batch.mask)
            for site, seen in zip(sites, gammas, strict=True):
                bank = site.layer.bank
                current = site.moment.fold()
                seen.append(energy(directional_operator(current, bank.w_q, bank.w_k)))
    observe(sites, False)
    return [statistics.median(seen) for seen in gammas]


def observe(sites: Iterable[Site], on: bool) -> None:
    """Let the next forward passes add to the C of `sites`, or no longer."""
    for site in sites:
        site.layer.observer = site.moment if on else None
