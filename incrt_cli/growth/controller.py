"""Carries the gates' decisions out on a model and its optimiser, and keeps the account of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch.optim import Optimizer

from incrt_cli.config.schema import GateSection
from incrt_cli.data.task import Batch
from incrt_cli.geometry.operator import DirectionalOperator, directional_operator, energy
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.gate import Gate, Grow, Prune
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.growth.probe import Rows, TaskProbe
from incrt_cli.growth.progress import interval
from incrt_cli.growth.records import Certificate, Check, Event
from incrt_cli.growth.surgery import add_head, remove_head
from incrt_cli.growth.variants import build_gate, build_newborn
from incrt_cli.model.classifier import Classifier, count_parameters
from incrt_cli.model.layer import Layer

Probe = Callable[[], float]  # the loss on one training batch, without dropout, in nats


@dataclass
class _Site:
    """A layer with its gate, its running C and the identities of its heads in bank order."""

    index: int
    layer: Layer
    gate: Gate
    moment: RunningMoment
    heads: list[int]
    next_head: int

    def operator(self) -> DirectionalOperator:
        bank = self.layer.bank
        return directional_operator(self.moment.value, bank.w_q.detach(), bank.w_k.detach())


class GrowthController:
    """Growth of all layers of `model`.

    Births draw from a generator of their own, so they do not shift dropout.
    """

    def __init__(
        self,
        model: Classifier,
        optimizer: Optimizer,
        settings: GateSection,
        seed: int,
        rows: Rows | None = None,
    ) -> None:
        self._model = model
        horizon = max(1, settings.settle // 4)
        self._task_probe = TaskProbe(model, rows, horizon) if rows is not None else None
        self._optimizer = optimizer
        self._settings = settings
        self._generator = torch.Generator().manual_seed(seed)
        self._sites = [self._site(index, layer) for index, layer in enumerate(model.attention_layers)]

    def _site(self, index: int, layer: Layer) -> _Site:
        width, device = layer.bank.width, layer.bank.input_projection.device
        gate = build_gate(self._settings, index, width, self._generator, self._task_probe)
        moment = RunningMoment(width, self._settings.decay, device)
        heads = list(range(layer.bank.heads))
        return _Site(index, layer, gate, moment, heads, len(heads))

    def calibrate(self, batches: Iterable[Batch]) -> list[HeadPrediction]:
        """Γ⁽⁰⁾ (median over `batches`), thresholds and predictions, one a layer, before the first step."""
        gammas: list[list[float]] = [[] for _ in self._sites]
        device = next(self._model.parameters()).device
        self._model.train()
        self.observe(True)
        # With dropout, as at every later look: without it Γ⁽⁰⁾ would be larger by what dropout takes away.
        with torch.no_grad(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            for batch in batches:
                self._model(batch.tokens, batch.mask)
                for site, seen in zip(self._sites, gammas, strict=True):
                    bank = site.layer.bank
                    current = site.moment.fold()
                    seen.append(energy(directional_operator(current, bank.w_q, bank.w_k)))
        self.observe(False)
        if self._task_probe is not None:
            self._task_probe.look(0)
        return [
            site.gate.calibrate(site.operator(), statistics.median(seen), len(site.heads))
            for site, seen in zip(self._sites, gammas, strict=True)
        ]

    def observes(self, step: int) -> bool:
        """Is C updated at `step`?"""
        return step % self._settings.observe_every == 0

    def observe(self, on: bool) -> None:
        """Let the next forward passes add to C, or no longer."""
        for site in self._sites:
            site.layer.observer = site.moment if on else None

    def fold(self) -> None:
        """Close an observed step."""
        for site in self._sites:
            site.moment.fold()

    def stepped(self) -> None:
        """The optimiser has taken a step."""
        if self._task_probe is not None:
            self._task_probe.stepped()

    def checks(self, step: int) -> bool:
        """Is `step` one to look at? A gate that asks the task has a clock of its own besides."""
        return step > 0 and (step % self._settings.check_every == 0 or self._asks(step))

    def _asks(self, step: int) -> bool:
        return self._task_probe is not None and step % interval(self._settings.settle) == 0

    def check(self, step: int, probe: Probe) -> tuple[list[Check], list[Event]]:
        """One look at every layer; carries out at most one event a layer."""
        checks, events = [], []
        if self._task_probe is not None:
            self._task_probe.look(step, search=self._asks(step))
        for site in self._sites:
            op = site.operator()
            check, decision = site.gate.check(op, step, len(site.heads))
            checks.append(check)
            if isinstance(decision, Grow):
                events.append(self._grow(site, op, check, decision, probe))
            elif isinstance(decision, Prune):
                events.append(self._prune(site, op, check, decision, probe))
        return checks, events

    def certify(self) -> list[Certificate]:
        return [site.gate.certify(site.operator(), len(site.heads)) for site in self._sites]

    def _grow(
        self, site: _Site, op: DirectionalOperator, check: Check, decision: Grow, probe: Probe
    ) -> Event:
        bank = site.layer.bank
        newborn = build_newborn(self._settings, decision.plane, bank, site.moment.tokens, self._generator)
        loss_before = probe()
        add_head(bank, self._optimizer, newborn)
        head = site.next_head
        site.heads.append(head)
        site.next_head += 1
        change = site.gate.born(op, check.step, len(site.heads), head, decision)
        return Event(
            kind="birth",
            step=check.step,
            layer=site.index,
            head=head,
            heads=len(site.heads),
            lambda_max=decision.lambda_max,
            lambda_min=decision.lambda_min,
            theta=check.theta,
            phi_g=check.phi_g,
            release=None,
            gamma_before=change.gamma_before,
            gamma_after=change.gamma_after,
            delta_w=change.delta_w,
            loss_before=loss_before,
            loss_after=probe(),
            parameters=count_parameters(self._model),
        )

    def _prune(
        self, site: _Site, op: DirectionalOperator, check: Check, decision: Prune, probe: Probe
    ) -> Event:
        bank, index = site.layer.bank, site.heads.index(decision.head)
        loss_before = probe()
        # A head without W_O is a head removed, as far as the loss can tell; so measure before cutting.
        kept = bank.output_projection.data[index].clone()
        bank.output_projection.data[index].zero_()
        loss_after = probe()
        guard = self._settings.prune_guard
        undone = guard is not None and loss_after - loss_before > guard
        change = None
        if undone:
            bank.output_projection.data[index].copy_(kept)
            site.gate.kept(decision)
        else:
            remove_head(bank, self._optimizer, index)
            site.heads.pop(index)
            change = site.gate.pruned(op, check.step, len(site.heads), decision)
        return Event(
            kind="prune_undone" if undone else "prune",
            step=check.step,
            layer=site.index,
            head=decision.head,
            heads=len(site.heads),
            lambda_max=check.lambda_max,
            lambda_min=check.lambda_min,
            theta=check.theta,
            phi_g=check.phi_g,
            release=decision.release,
            gamma_before=check.gamma,
            gamma_after=change.gamma_after if change else check.gamma,
            delta_w=change.delta_w if change else 0.0,
            loss_before=loss_before,
            loss_after=loss_after,
            parameters=count_parameters(self._model),
        )
