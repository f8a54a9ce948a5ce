"""Growth of a model: when to look, at which layers, and whether a layer comes on top."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim import Optimizer

from incrt_cli.config.schema import DepthSection, GateSection
from incrt_cli.data.task import Batch
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.calibration import initial_energies, observe
from incrt_cli.growth.depth import Deepen, build_depth_rule
from incrt_cli.growth.gate import describe
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.growth.operations import Losses, Operations, Probe, Site
from incrt_cli.growth.peers import ALONE, Peers
from incrt_cli.growth.probe import Rows, TaskProbe
from incrt_cli.growth.progress import interval
from incrt_cli.growth.records import Certificate, Check, Event
from incrt_cli.growth.variants import build_gate
from incrt_cli.model.classifier import Classifier
from incrt_cli.model.layer import Layer


@dataclass(frozen=True)
class Depth:
    """Whether layers may come, and the batches that calibrate one."""

    settings: DepthSection
    batches: Callable[[], Iterable[Batch]]


class GrowthController:
    """Growth of all layers of `model`, and of their number where `depth` is given.

    Births draw from a generator of their own, so they do not shift dropout. Processes that train the same
    model give their `peers`: each decision is compared before it is carried out. Without an `optimizer` it
    calibrates and predicts, and that is all.
    """

    def __init__(
        self,
        model: Classifier,
        optimizer: Optimizer | None,
        settings: GateSection,
        seed: int,
        rows: Rows | None = None,
        depth: Depth | None = None,
        peers: Peers = ALONE,
    ) -> None:
        self._model, self._peers = model, peers
        horizon = max(1, settings.settle // 4)
        self._task_probe = TaskProbe(model, rows, horizon) if rows is not None else None
        self._settings = settings
        self._generator = torch.Generator().manual_seed(seed)
        self._operations = (
            None if optimizer is None else Operations(model, optimizer, settings, self._generator)
        )
        self._sites = [self._site(index, layer) for index, layer in enumerate(model.attention_layers)]
        self._seed, self._depth = seed, depth
        self._depth_rule = build_depth_rule(depth.settings, settings, self._task_probe) if depth else None
        self._asks_for_layer = False  # at the last check

    def _site(self, index: int, layer: Layer) -> Site:
        width, device = layer.bank.width, layer.bank.input_projection.device
        gate = build_gate(self._settings, index, width, self._generator, self._task_probe)
        moment = RunningMoment(width, self._settings.decay, device, self._peers)
        heads = list(range(layer.bank.heads))
        return Site(index, layer, gate, moment, heads, len(heads))

    def calibrate(self, batches: Iterable[Batch]) -> list[HeadPrediction]:
        """Γ⁽⁰⁾ (median over `batches`), thresholds and predictions, one a layer, before the first step."""
        predictions = self._calibrate(self._sites, batches, step=0)
        if self._depth_rule is not None:
            self._depth_rule.begin(predictions[-1])
        return predictions

    def _calibrate(self, sites: list[Site], batches: Iterable[Batch], step: int) -> list[HeadPrediction]:
        gammas = initial_energies(self._model, sites, batches)
        if self._task_probe is not None:
            self._task_probe.look(step)
        return [
            site.gate.calibrate(site.operator(), gamma, len(site.heads))
            for site, gamma in zip(sites, gammas, strict=True)
        ]

    def observes(self, step: int) -> bool:
        """Is C updated at `step`? A gate that asks the task has no use for it after calibration."""
        return self._task_probe is None and step % self._settings.observe_every == 0

    def observe(self, on: bool) -> None:
        """Let the next forward passes add to C, or no longer."""
        observe(self._sites, on)

    def fold(self) -> None:
        """Close an observed step."""
        for site in self._sites:
            site.moment.fold()

    def stepped(self, step: int) -> None:
        """The optimiser has taken step number `step`."""
        if self._task_probe is not None:
            self._task_probe.stepped(self._next_look(step - 1) - step)

    def checks(self, step: int) -> bool:
        """Is `step` one to look at?"""
        return step > 0 and self._next_look(step - 1) <= step

    def _next_look(self, step: int) -> int:
        """The first one after `step`. What rules on depth counts looks at the task, so their pace is even."""
        looks = [site.gate.next_look(step) for site in self._sites]
        if self._task_probe is not None and self._depth_rule is not None:
            unit = interval(self._settings.settle)
            looks.append((step // unit + 1) * unit)
        return min(looks)

    def check(self, step: int, losses: Losses) -> tuple[list[Check], list[Event]]:
        """One look at every layer; carries out at most one event a layer, and at most one layer on top."""
        assert self._operations is not None
        checks: list[Check] = []
        events: list[Event] = []
        if self._task_probe is not None:
            self._task_probe.look(step)
        for site in self._sites:
            op = site.operator()
            check, decision = site.gate.check(op, step, len(site.heads))
            checks.append(check)
            self._peers.agree(f"{describe(decision)} in layer {site.index} at step {step}")
            events += self._operations.carry_out(decision, site, op, check, losses)
        if self._depth_rule is not None:
            deepen = self._depth_rule.look(checks[-1], changed=decision is not None)
            self._asks_for_layer = deepen is not None
            self._peers.agree(f"{'a' if deepen else 'no'} further layer at step {step}")
            if deepen is not None and len(self._sites) < self._most_layers:
                events.append(self._deepen(checks[-1], deepen, losses.probe))
        return checks, events

    def certify(self) -> list[Certificate]:
        return [site.gate.certify(site.operator(), len(site.heads)) for site in self._sites]

    @property
    def deep_enough(self) -> bool | None:
        """Was no further layer asked for at the last check? None where layers may not come."""
        return None if self._depth is None else not self._asks_for_layer

    def state(self) -> dict[str, Any]:
        """Gates, running C, probe, depth and the births' generator, as tensors and plain data."""
        rule, probe = self._depth_rule, self._task_probe
        return {
            "generator": self._generator.get_state(),
            "sites": [site.state() for site in self._sites],
            "probe": None if probe is None else probe.state(),
            "depth": None if rule is None else rule.state(),
            "asks_for_layer": self._asks_for_layer,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` returned, in place of `calibrate`; the model has its size already."""
        layers = self._model.attention_layers
        self._sites = [self._site(index, layer) for index, layer in enumerate(layers)]
        for site, saved in zip(self._sites, state["sites"], strict=True):
            site.load_state(saved)
        if self._task_probe is not None:
            self._task_probe.load_state(state["probe"])
        if self._depth_rule is not None:
            self._depth_rule.load_state(state["depth"], layers[-1].bank.input_projection.device)
        self._asks_for_layer = state["asks_for_layer"]
        # Last: a site that is made draws nothing, but must not be able to shift the births.
        self._generator.set_state(state["generator"])

    @property
    def _most_layers(self) -> int:
        return self._depth.settings.max_layers if self._depth else 0

    def _deepen(self, check: Check, decision: Deepen, probe: Probe) -> Event:
        assert self._depth is not None and self._depth_rule is not None and self._operations is not None
        loss_before = probe()
        index = len(self._sites)
        site = self._site(index, self._operations.put_on_top(self._seed + index))
        self._sites.append(site)
        (prediction,) = self._calibrate([site], self._depth.batches(), check.step)
        self._depth_rule.begin(prediction)
        self._asks_for_layer = False
        return self._operations.layer_event(site, check, decision, (loss_before, probe()), prediction)
