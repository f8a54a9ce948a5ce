"""A trained layer with its gate, put back before every round: what births and prunes are measured on."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer

from incrt_cli.bench.drive import STEPS_ALONE, changed, drive, ready
from incrt_cli.bench.measurement import Context
from incrt_cli.bench.subjects import Step
from incrt_cli.geometry.capture import empty_capture
from incrt_cli.geometry.operator import energy
from incrt_cli.geometry.spectrum import residual_spectrum
from incrt_cli.geometry.trackers import start_tracking, track
from incrt_cli.growth.gate import Gate, Grow, Prune
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.growth.operations import Site
from incrt_cli.growth.surgery import add_head, remove_head
from incrt_cli.growth.variants import build_gate, build_newborn
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.device import to_device

_STEPS_BEFORE = 3  # so that the optimiser has its moments
# Thresholds out of reach: trackers that propose nothing are not followed by an exact look.
_CALM = {"growth_fraction": 0.99, "certify_every": 2**31}


class Stage:
    """The first layer of a model of `context.heads` heads, none of them born, under the paper's gate.

    Every method but `reset` is one work to be timed.
    """

    def __init__(self, context: Context) -> None:
        config = changed(context.config, {**STEPS_ALONE, "model.heads": context.heads, "gate.enabled": False})
        prepared = ready(config)
        drive(prepared, _STEPS_BEFORE + 1).loop.run(_STEPS_BEFORE)
        variant = "notebook" if config.gate.variant == "notebook" else "paper"
        asked: dict[str, Any] = {"variant": variant, "max_heads": None, "attribution": None}
        self._settings = config.gate.model_copy(update={**asked, "tracker": "online"})
        self._prepared, self._generator = prepared, torch.Generator().manual_seed(config.seed)
        train = prepared.task.splits["train"]
        rows = np.arange(min(config.train.batch_size, len(train)))
        self._batch = to_device(train.batch(rows), prepared.device)
        self._moment = self._observed()
        self._stand(prepared.model, prepared.optimizer, self._gate())
        self._see()

    @property
    def shape(self) -> dict[str, int | str]:
        batch, tokens = self._batch.tokens.shape
        bank = self._prepared.model.attention_layers[0].bank
        return {"B": batch, "n": tokens, "d": bank.width, "d_k": bank.head_width, "K": bank.heads}

    def reset(self) -> None:
        """Model, optimiser and gate as they were, in copies."""
        model, optimizer = copy.deepcopy((self._prepared.model, self._prepared.optimizer))
        gate = self._gate()
        gate.load_state(copy.deepcopy(self._state), self._prepared.device)
        self._stand(model, optimizer, gate)

    def step(self) -> None:
        self._step()

    def birth(self) -> None:
        """On the first plane of the residual spectrum that no head has, or on the second."""
        site, bank = self._site, self._site.layer.bank
        decision = self._planes[len(site.heads) - self._prepared.config.model.heads]
        newborn = build_newborn(self._settings, decision, bank, site.moment.tokens, self._generator)
        add_head(bank, self._optimizer, newborn)
        site.heads.append(site.next_head)
        site.next_head += 1
        site.gate.born(self._op, 1, len(site.heads), site.heads[-1], decision)

    def prune(self) -> None:
        """The newest head."""
        site = self._site
        remove_head(site.layer.bank, self._optimizer, len(site.heads) - 1)
        decision = Prune(site.heads.pop(), 0.0)
        site.gate.pruned(self._op, 1, len(site.heads), decision)

    def exact_look(self) -> None:
        self._site.gate.certify(self._site.operator(), len(self._site.heads))

    def tracker_look(self) -> None:
        """`gate.tracker_iterations` steps of both trackers, and all else that a quiet look computes."""
        self._calm.check(self._site.operator(), 1, len(self._site.heads))

    def tracker_step(self) -> None:
        track(self._op, self._basis, self._pair, self._gamma, self._settings.step, 1)

    def _stand(self, model: Classifier, optimizer: Optimizer, gate: Gate) -> None:
        layer = model.attention_layers[0]
        heads = list(range(layer.bank.heads))
        self._site = Site(0, layer, gate, self._moment, heads, len(heads))
        self._model, self._optimizer = model, optimizer
        self._step = Step(model, optimizer, self._batch, self._prepared.config.train)

    def _gate(self, **settings: Any) -> Gate:
        width = self._prepared.config.model.width
        return build_gate(self._settings.model_copy(update=settings), 0, width, self._generator, None)

    def _observed(self) -> RunningMoment:
        """C of one batch."""
        layer, config = self._prepared.model.attention_layers[0], self._prepared.config
        moment = RunningMoment(config.model.width, config.gate.decay, self._prepared.device)
        layer.observer = moment
        with torch.no_grad():
            self._prepared.model(self._batch.tokens, self._batch.mask)
        layer.observer = None
        moment.fold()
        return moment

    def _see(self) -> None:
        """Calibrate and look once, and keep what births and looks start from."""
        heads, self._op = len(self._site.heads), self._site.operator()
        self._gamma = energy(self._op)
        self._calm = self._gate(**_CALM)
        for gate in (self._site.gate, self._calm):
            gate.calibrate(self._op, self._gamma, heads)
        self._site.gate.check(self._op, 1, heads)
        self._state = self._site.gate.state()
        self._basis = empty_capture(self._prepared.config.model.width, self._prepared.device).basis
        self._pair = start_tracking(self._basis, self._generator)
        spectrum = residual_spectrum(self._op, self._basis)
        found = [spectrum.extremes(rank) for rank in (0, 1)]
        self._planes = [
            Grow(torch.stack([one.u_plus, one.u_minus], dim=1), one.lambda_max, one.lambda_min, 0.5)
            for one in found
        ]
