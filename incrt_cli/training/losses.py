"""The loss of a step: with gradients, to train by, and without dropout, to tell what an event costs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import torch

from incrt_cli.growth.controller import GrowthController
from incrt_cli.training.part import Part, add_up
from incrt_cli.training.prepare import Prepared


def loss_with_gradients(
    prepared: Prepared, parts: Sequence[Part], step: int, controller: GrowthController | None
) -> torch.Tensor:
    """The loss of step number `step` (nats, on the device) over all ranks; the gradients are the model's.

    `controller` sees what the layers read where it observes the step. Raises ShortOfMemoryError, PeerError.
    """
    ranks, compiled = prepared.ranks, prepared.compiled
    observing = controller is not None and controller.observes(step)
    if controller is not None:
        controller.observe(observing)
    prepared.model.train()
    ranks.draw_own(prepared.config.seed, step)
    prepared.optimizer.zero_grad(set_to_none=True)
    with nullcontext() if compiled is None else compiled.explained():
        loss = _add_up(prepared, parts)
    loss = ranks.add_gradients(loss, prepared.model)
    if controller is not None and observing:
        controller.fold()
        controller.observe(False)
    return loss


def loss_without_dropout(prepared: Prepared, parts: Sequence[Part]) -> float:
    """Over all ranks (nats), of the model as it is now."""
    prepared.model.eval()
    with torch.no_grad():
        loss = _add_up(prepared, parts)
    prepared.model.train()
    prepared.ranks.add([loss])
    return float(loss)


def _add_up(prepared: Prepared, parts: Sequence[Part]) -> torch.Tensor:
    return add_up(prepared.model, parts, prepared.config.train, prepared.device)
