"""Geometric, NTK and practical scores of eigenplanes and of random planes, side by side (METHOD §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from incrt_cli.data.batches import epoch_batches
from incrt_cli.diagnosis.figures import figures
from incrt_cli.diagnosis.planes import eigenplanes, random_planes, room_for_planes
from incrt_cli.diagnosis.subject import Say, Subject
from incrt_cli.diagnosis.trial import Trial, batches
from incrt_cli.errors import UserError
from incrt_cli.geometry.operator import directional_operator
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.model.layer import Layer
from incrt_cli.rundir.plain import to_plain

_LARGEST_SEED = 2**62


@dataclass(frozen=True)
class Request:
    """`planes` of each kind in `layer`, `steps` of each newborn alone, `draws` of its random weights."""

    layer: int = 0
    planes: int = 8
    steps: int = 20
    draws: int = 4


def diagnose(subject: Subject, request: Request, say: Say) -> dict[str, Any]:
    """Scores, rank correlations and means as plain values. Raises UserError for a layer without room."""
    layer = _layer(subject, request.layer)
    basis, origin = subject.captured(request.layer)
    count = min(request.planes, room_for_planes(basis))
    if count == 0:
        raise UserError(f"--layer {request.layer}: its heads leave no plane uncaptured; nothing to compare")
    generator = torch.Generator().manual_seed(subject.config.seed)
    moment = _moment(subject, layer)
    op = directional_operator(moment.value, layer.bank.w_q.detach(), layer.bank.w_k.detach())
    planes = eigenplanes(op, basis, count) + random_planes(op, basis, count, generator)
    trial = Trial(subject, layer, request.steps, moment.tokens)
    seeds = torch.randint(_LARGEST_SEED, (request.draws,), generator=generator).tolist()
    looks = []
    for number, seed in enumerate(seeds, start=1):
        looks.append(trial.scores(planes, seed, number))
        say(f"draw {number} of {request.draws}: {len(planes)} planes, {request.steps} steps each")
    plain: dict[str, Any] = to_plain(
        {
            "seed": subject.config.seed,
            "trained": subject.run is not None,
            "layer": request.layer,
            "heads": layer.bank.heads,
            "width": layer.bank.width,
            "captured": basis.shape[1],
            "captured_from": origin,
            "planes_asked": request.planes,
            "steps": request.steps,
            "draws": request.draws,
            "judged_on": trial.judged_on,
            "judged_rows": trial.judged_rows,
            "loss": trial.before,
            **figures(planes, np.stack(looks), subject.config.seed),
        }
    )
    return plain


def _layer(subject: Subject, index: int) -> Layer:
    layers = subject.model.attention_layers
    if index >= len(layers):
        raise UserError(f"--layer {index}: the model has {len(layers)} layer(s), counted from 0")
    return layers[index]


def _moment(subject: Subject, layer: Layer) -> RunningMoment:
    """C of `layer` as the gate sees it: over calibration batches, under dropout."""
    settings, device = subject.config.gate, subject.device
    moment = RunningMoment(layer.bank.width, settings.decay, device)
    train, batch_size = subject.task.splits["train"], subject.config.train.batch_size
    order = epoch_batches(train.lengths, batch_size, subject.config.seed, 0)
    layer.observer = moment
    subject.model.train()
    with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(subject.config.seed)
        for batch in batches(train, order[: settings.calibration_batches], device):
            subject.model(batch.tokens, batch.mask)
            moment.fold()
    layer.observer = None
    return moment
