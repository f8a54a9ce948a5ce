"""What growth decided, done: births, captures, prunes, layers, and the event that tells of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.optim import Optimizer

from incrt_cli.config.schema import GateSection
from incrt_cli.geometry.operator import DirectionalOperator, directional_operator
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.depth import Deepen
from incrt_cli.growth.gate import Absorb, Decision, EnergyChange, Gate, Grow, Prune
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.growth.records import Check, Event, EventKind
from incrt_cli.growth.surgery import add_head, add_layer, remove_head
from incrt_cli.growth.variants import build_newborn
from incrt_cli.model.classifier import Classifier, count_parameters
from incrt_cli.model.layer import Layer

Probe = Callable[[], float]


class Losses(NamedTuple):
    """In nats: `taken` is that of the step just taken, which is there anyway; `probe` measures the model as
    it is now on the same rows, without dropout.
    """

    taken: float
    probe: Probe


@dataclass
class Site:
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

    def state(self) -> dict[str, Any]:
        return {
            "gate": self.gate.state(),
            "moment": self.moment.state(),
            "heads": self.heads,
            "next_head": self.next_head,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.gate.load_state(state["gate"], self.layer.bank.input_projection.device)
        self.moment.load_state(state["moment"])
        self.heads, self.next_head = list(state["heads"]), state["next_head"]


@dataclass(frozen=True)
class Operations:
    """On the layers of `model`; newborns are drawn from `generator`."""

    model: Classifier
    optimizer: Optimizer
    settings: GateSection
    generator: torch.Generator

    def carry_out(
        self, decision: Decision, site: Site, op: DirectionalOperator, check: Check, losses: Losses
    ) -> list[Event]:
        """Do what the gate of `site` decided at `check`, where it saw `op`; at most one event."""
        if isinstance(decision, Grow):
            return [self._grow(decision, site, op, check, losses.taken)]
        if isinstance(decision, Absorb):
            return [self._absorb(decision, site, op, check, losses.taken)]
        if isinstance(decision, Prune):
            return [self._prune(decision, site, op, check, losses.probe)]
        return []

    def _grow(self, decision: Grow, site: Site, op: DirectionalOperator, check: Check, loss: float) -> Event:
        """The newborn's W_O = 0 leaves the function as it was, so its loss need not be measured."""
        bank = site.layer.bank
        newborn = build_newborn(self.settings, decision, bank, site.moment.tokens, self.generator)
        add_head(bank, self.optimizer, newborn)
        head = site.next_head
        site.heads.append(head)
        site.next_head += 1
        change = site.gate.born(op, check.step, len(site.heads), head, decision)
        return self._event("birth", head, site, check, change, decision, (loss, loss))

    def _absorb(
        self, decision: Absorb, site: Site, op: DirectionalOperator, check: Check, loss: float
    ) -> Event:
        """Only the account of planes changes: the model, and with it the loss, stays as it is."""
        change = site.gate.absorbed(op, check.step, len(site.heads), decision)
        return self._event("capture", decision.head, site, check, change, decision, (loss, loss))

    def _prune(
        self, decision: Prune, site: Site, op: DirectionalOperator, check: Check, probe: Probe
    ) -> Event:
        bank, index = site.layer.bank, site.heads.index(decision.head)
        loss = probe()
        # A head without W_O is a head removed, as far as the loss can tell; so measure before cutting.
        kept = bank.output_projection.data[index].clone()
        bank.output_projection.data[index].zero_()
        losses = (loss, probe())
        guard = self.settings.prune_guard
        if guard is not None and losses[1] - loss > guard:
            bank.output_projection.data[index].copy_(kept)
            site.gate.kept(decision)
            unchanged = EnergyChange(check.gamma, check.gamma, 0.0)
            return self._event("prune_undone", decision.head, site, check, unchanged, decision, losses)
        remove_head(bank, self.optimizer, index)
        site.heads.pop(index)
        change = site.gate.pruned(op, check.step, len(site.heads), decision)
        return self._event("prune", decision.head, site, check, change, decision, losses)

    def put_on_top(self, seed: int) -> Layer:
        """Another layer, drawn from `seed` and trained as the one below."""
        below = self.model.attention_layers[-1]
        layer = self.model.append_layer(seed)
        add_layer(self.optimizer, layer, below)
        return layer

    def layer_event(
        self,
        site: Site,
        check: Check,
        decision: Deepen,
        losses: tuple[float, float],
        prediction: HeadPrediction,
    ) -> Event:
        """The layer of `site` was put on top by `decision`, and is to grow as `prediction` says."""
        return Event(
            kind="layer",
            step=check.step,
            layer=site.index,
            head=site.heads[0],
            heads=len(site.heads),
            lambda_max=decision.left,
            lambda_min=None,
            theta=decision.theta,
            phi_g=None,
            release=None,
            gamma_before=check.gamma,
            gamma_after=check.gamma,
            delta_w=None,
            loss_before=losses[0],
            loss_after=losses[1],
            parameters=count_parameters(self.model),
            prediction=prediction,
        )

    def _event(
        self,
        kind: EventKind,
        head: int,
        site: Site,
        check: Check,
        change: EnergyChange,
        decision: Grow | Absorb | Prune,
        losses: tuple[float, float],
    ) -> Event:
        seen = check if isinstance(decision, Prune) else decision
        return Event(
            kind=kind,
            step=check.step,
            layer=site.index,
            head=head,
            heads=len(site.heads),
            lambda_max=seen.lambda_max,
            lambda_min=seen.lambda_min,
            theta=check.theta,
            phi_g=check.phi_g,
            release=decision.release if isinstance(decision, Prune) else None,
            gamma_before=change.gamma_before,
            gamma_after=change.gamma_after,
            delta_w=change.delta_w,
            loss_before=losses[0],
            loss_after=losses[1],
            parameters=count_parameters(self.model),
        )
