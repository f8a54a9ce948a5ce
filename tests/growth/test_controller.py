"""Decisions carried out on a real model: births, prunes, prunes undone, several layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from incrt_cli.config.schema import GateSection
from incrt_cli.data.task import Batch
from incrt_cli.growth.controller import GrowthController
from incrt_cli.growth.operations import Losses
from incrt_cli.growth.records import Event
from incrt_cli.growth.surgery import HEAD_PARAMETERS
from incrt_cli.model.classifier import Architecture, Classifier

PATIENCE = 2


class Bench:
    """A small model with a controller on one fixed batch, whose weights stand still between checks."""

    def __init__(self, layers: int = 1, **settings: Any) -> None:
        torch.manual_seed(0)
        self.model = Classifier(Architecture(40, 12, 3, 16, head_width=4, value_width=4, heads=(1,) * layers))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        gate = GateSection(tracker="exact", prune_patience=PATIENCE, **settings)
        self.controller = GrowthController(self.model, self.optimizer, gate, seed=0)
        self.batch = Batch(torch.randint(1, 40, (8, 12)), None, torch.randint(0, 3, (8,)))
        self.predictions = self.controller.calibrate([self.batch])
        self.step = 0

    def check(self, times: int) -> list[Event]:
        events: list[Event] = []
        for _ in range(times):
            self.step += 1
            events += self.controller.check(self.step, Losses(self.loss(), self.loss))[1]
        return events

    def loss(self) -> float:
        with torch.no_grad():
            return float(F.cross_entropy(self.model(self.batch.tokens, None), self.batch.labels))

    def learn(self, steps: int) -> None:
        """Fit values and outputs to the batch, so that every head counts."""
        for _ in range(steps):
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(self.batch.tokens, None), self.batch.labels).backward()
            for layer in self.model.attention_layers:
                layer.bank.input_projection.grad[:, : 2 * layer.bank.head_width].zero_()
            self.optimizer.step()

    def fade(self, factor: float) -> None:
        """Shrink all motors, so that every captured plane loses its energy."""
        for layer in self.model.attention_layers:
            layer.bank.input_projection.data[:, : layer.bank.head_width] *= factor


@pytest.mark.parametrize("attribution", [None, 0.3])
@pytest.mark.parametrize("layers", [1, 2])
def test_on_weights_that_stand_still_the_model_grows_to_k_greedy(
    layers: int, attribution: float | None
) -> None:
    bench = Bench(layers, attribution=attribution)
    before = bench.loss()
    events = bench.check(30)
    assert bench.model.head_counts == [prediction.k_greedy for prediction in bench.predictions]
    assert [certificate.planes for certificate in bench.controller.certify()] == [
        prediction.planes for prediction in bench.predictions
    ]
    assert all(event.delta_w < 0.0 for event in events)
    assert bench.loss() == pytest.approx(before, abs=1e-6)
    assert all(certificate.stopped_by_itself for certificate in bench.controller.certify())


def test_heads_without_energy_are_pruned_but_never_the_last() -> None:
    bench = Bench(prune_guard=None)
    bench.check(30)
    assert bench.model.head_counts[0] > 3
    bench.fade(0.01)
    events = bench.check(40)
    assert {event.kind for event in events} == {"prune"} and all(event.delta_w < 0.0 for event in events)
    assert bench.model.head_counts == [1]
    assert all(event.release < event.phi_g for event in events)


def test_a_prune_that_costs_too_much_is_undone_bit_for_bit() -> None:
    bench = Bench(prune_guard=1e-6, birth_norm=1.0)
    bench.check(30)
    bank = bench.model.attention_layers[0].bank
    bench.fade(0.01)
    bench.learn(steps=20)
    before = {name: getattr(bank, name).detach().clone() for name in HEAD_PARAMETERS}
    events = bench.check(PATIENCE)
    undone = [event for event in events if event.kind == "prune_undone"]
    gone = [event for event in events if event.kind == "prune"]
    assert all(event.loss_after - event.loss_before <= 1e-6 for event in gone)
    assert undone and all(event.loss_after - event.loss_before > 1e-6 for event in undone)
    assert all(torch.equal(getattr(bank, name), before[name]) for name in HEAD_PARAMETERS)
    assert not bench.controller.certify()[0].minimal


def test_random_planes_at_birth_are_a_control_that_grows_the_same_count_at_first() -> None:
    aligned, random = Bench(), Bench(birth="random")
    for bench in (aligned, random):
        assert [event.kind for event in bench.check(1)] == ["birth"]
    motors = [
        (bank.w_q[1] @ bank.w_k[1].T).detach()
        for bank in (aligned.model.attention_layers[0].bank, random.model.attention_layers[0].bank)
    ]
    assert float((motors[0] * motors[1]).sum().abs()) < 0.5 * float(motors[0].norm() * motors[1].norm())


def test_a_head_that_holds_the_directions_captures_them_and_the_model_stays_as_it_was() -> None:
    bench = Bench(attribution=0.3)
    before = [parameter.clone() for parameter in bench.model.parameters()]
    captures = [event for event in bench.check(2) if event.kind == "capture"]
    assert [event.head for event in captures] == [0, 0], "of four columns, two planes"
    assert all(event.delta_w < 0.0 and event.heads == 1 for event in captures)
    assert all(event.loss_before == event.loss_after for event in captures)
    assert all(map(torch.equal, before, bench.model.parameters()))


def test_with_level_two_fewer_heads_own_as_many_planes() -> None:
    planes = {}
    for attribution in (None, 0.3):
        bench = Bench(attribution=attribution)
        bench.check(30)
        (certificate,) = bench.controller.certify()
        planes[certificate.heads] = certificate.planes
    assert len(planes) == 2 and len(set(planes.values())) == 1


def test_the_gate_operator_leaves_the_function_as_it_was() -> None:
    bench = Bench(operator=True)
    before = bench.loss()
    assert any(event.kind == "birth" for event in bench.check(3))
    assert bench.loss() == pytest.approx(before, abs=1e-6)
