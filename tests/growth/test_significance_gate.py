"""The gate that asks the task: it grows where there is demand, once a direction, and not on noise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from incrt_cli.config.schema import GateSection
from incrt_cli.data.task import Batch
from incrt_cli.geometry.capture import Capture
from incrt_cli.geometry.demand import Evidence
from incrt_cli.growth.controller import GrowthController
from incrt_cli.growth.demand import Demand
from incrt_cli.growth.operations import Losses
from incrt_cli.growth.probe import Draw, TaskProbe
from incrt_cli.growth.records import Check, Event
from incrt_cli.model.classifier import Architecture, Classifier

TYPES = 4  # left and right tokens of two look-ups, in two variants


def _rows(count: int, seed: int, noise: bool) -> Batch:
    """One match decides the label: a left and a right token, each in one of two variants, among fillers."""
    generator = torch.Generator().manual_seed(seed)
    left, right = torch.randint(0, 2, (2, count), generator=generator)
    fillers = 5 + torch.randint(0, 8, (count, 4), generator=generator)
    labels = torch.randint(0, 2, (count,), generator=generator) if noise else (left == right).long()
    return Batch(torch.cat([1 + left[:, None], 3 + right[:, None], fillers], dim=1), None, labels)


class Bench:
    """A model that stands still, whose gate sees the same rows at every look."""

    def __init__(self, noise: bool = False, layers: int = 1, **settings: Any) -> None:
        torch.manual_seed(0)
        architecture = Architecture(
            13, 6, 2, 24, head_width=4, value_width=4, heads=(1,) * layers, positions=False
        )
        self.model = Classifier(architecture)
        draw = Draw([_rows(512, 1, noise)], [_rows(256, 2, noise), _rows(256, 3, noise)])
        gate = GateSection(variant="significance", **{"settle": 10, **settings})
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.controller = GrowthController(self.model, self.optimizer, gate, 0, lambda step: draw)
        self.predictions = self.controller.calibrate(draw.judges)

    def run(self, steps: int, every: int) -> list[Event]:
        events: list[Event] = []
        for step in filter(self.controller.checks, range(every, steps + 1, every)):
            events += self.controller.check(step, Losses(0.0, lambda: 0.0))[1]
        return events


def test_where_the_labels_are_noise_nothing_is_born() -> None:
    bench = Bench(noise=True)
    assert bench.run(300, every=10) == []
    (certificate,) = bench.controller.certify()
    assert certificate.sufficient and certificate.stopped_by_itself and certificate.minimal is None


def test_a_frozen_model_grows_one_head_a_direction_and_stops() -> None:
    bench = Bench(critical_t=3.5)
    events = bench.run(400, every=5)
    assert bench.model.head_counts[0] > 1
    assert len(events) == bench.model.head_counts[0] - 1 and events[-1].step < 400
    assert all(event.kind == "birth" and event.delta_w is None for event in events)


def _looks(bench: Bench, steps: int) -> list[Check]:
    return [
        bench.controller.check(step, Losses(0.0, lambda: 0.0))[0][0]
        for step in range(1, steps + 1)
        if bench.controller.checks(step)
    ]


def test_the_clock_has_no_other_rhythm_than_settle() -> None:
    """Every half of it, and a third of the life of a plateau."""
    looks = _looks(Bench(noise=True, settle=20, check_every=3), 500)
    assert [look.step for look in looks] == [*range(10, 61, 10), 80, 100, 130, 170, 220, 290, 380, 500]
    assert [look.learning for look in looks] == [True] + [False] * 13


def test_nothing_is_sought_while_the_newest_head_learns_or_when_the_task_is_solved() -> None:
    looks = _looks(Bench(noise=True, settle=20), 100)
    assert [look.exact for look in looks] == [not look.learning for look in looks]
    assert {look.exact for look in looks} == {True, False}
    bench = Bench(noise=True, settle=20, solved=0.999)
    bench.model.readout.weight.data.zero_()
    bench.controller.stepped(10)
    solved = _looks(bench, 100)
    assert solved and not any(look.exact for look in solved)


def test_where_demand_is_not_yet_significant_on_average_the_next_look_comes_soon() -> None:
    bench = Bench(settle=20, max_heads=1)
    looks = _looks(bench, 200)
    assert all(look.lambda_max > look.theta for look in looks)
    assert [look.step for look in looks] == [*range(10, 201, 10)]


def test_after_a_pause_one_look_is_not_enough_for_a_birth(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(demand: Demand, capture: Capture, step: int) -> None:
        t = 4.0 if step >= 290 else 0.0
        demand.found = Evidence(t, 1.0, t)

    bench = Bench(settle=20)
    monkeypatch.setattr(Demand, "search", search)
    # Looks come at 220, at 290, and, since that one said yes, at 300.
    assert [event.step for event in bench.run(310, every=1)] == [300]


def test_the_law_predicts_here_as_for_the_gate_of_the_paper() -> None:
    bench = Bench()
    paper = GrowthController(bench.model, bench.optimizer, GateSection(), 0)
    (expected,) = paper.calibrate([_rows(256, seed, False) for seed in (2, 3)])
    assert bench.predictions[0] == expected


def test_a_newborn_gets_its_time_however_often_the_gate_looks() -> None:
    births = [event.step for event in Bench(settle=40).run(200, every=5)]
    assert births[0] == 40 and all(b - a >= 40 for a, b in zip(births, births[1:], strict=False))


def test_a_solved_task_asks_for_nothing() -> None:
    bench = Bench(solved=0.999)
    bench.model.readout.weight.data.zero_()  # below the loss before the first step, by what the weights cost
    for step in range(1, 11):
        bench.controller.stepped(step)  # the gate looks at the average over the last steps
    assert bench.run(100, every=10) == [] and bench.controller.certify()[0].sufficient


def test_a_birth_at_the_last_look_leaves_the_question_open() -> None:
    bench = Bench()
    assert len(bench.run(10, every=10)) == 1
    (certificate,) = bench.controller.certify()
    assert certificate.quiet_checks == 0 and not certificate.stopped_by_itself


def test_max_heads_holds_growth_back_and_says_so() -> None:
    bench = Bench(max_heads=1)
    assert bench.run(200, every=10) == []
    assert not bench.controller.certify()[0].sufficient


def test_a_look_leaves_weights_gradients_and_mode_alone() -> None:
    bench = Bench(layers=2)
    model = bench.model.train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    probe = TaskProbe(model, lambda step: Draw([_rows(8, 0, False)], [_rows(8, 1, False)]), 10)
    probe.look(1)
    sight = probe.sight
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert model.training and all(p.grad is None for p in model.parameters())
    assert all(layer.tap is None for layer in model.attention_layers)
    assert len(sight.judges) == 2 and len(probe.losses) == 8 and probe.sight is sight


def test_a_look_after_one_that_was_asked_brings_pulls_at_once_and_shows_the_same() -> None:
    bench = Bench(layers=2)
    draw = Draw([_rows(8, 0, False)], [_rows(8, 1, False), _rows(8, 2, False)])
    passes = 0

    def rows(step: int) -> Draw:
        nonlocal passes
        passes += 1
        return draw

    probe = TaskProbe(bench.model, rows, horizon=1)
    probe.look(1)
    first, losses = probe.sight, probe.losses
    assert passes == 2 and probe.state()["asked"]
    probe.look(2)
    assert passes == 3 and not probe.state()["asked"]
    assert torch.equal(probe.losses, losses)
    for one, other in zip(first.judges, probe.sight.judges, strict=True):
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))
    with torch.no_grad():
        bench.model.readout.weight.mul_(2.0)
    probe.stepped(0)
    probe.look(3)
    asked = probe.losses, probe.sight.judges[0].pull
    unasked = TaskProbe(bench.model, rows, horizon=1)
    unasked.look(3)
    assert torch.equal(asked[0], unasked.losses) and torch.equal(asked[1], unasked.sight.judges[0].pull)
    assert not torch.equal(asked[0], losses)


def test_the_pull_is_the_gradient_of_the_heads_output() -> None:
    model, batch = Bench().model.double().eval(), _rows(4, 5, False)
    probe = TaskProbe(model, lambda step: Draw([batch], [batch]), 10)
    probe.look(0)
    (view,) = probe.sight.judges
    change = 1e-5 * torch.randn(4, 6, 24, dtype=torch.float64)
    with torch.no_grad():
        model.attention_layers[0].tap = lambda bank, z, mask: bank(z, mask) + change
        moved = F.cross_entropy(model(batch.tokens, None), batch.labels, reduction="sum")
    expected = -float((view.pull * change.flatten(0, 1)).sum())
    assert float(moved - probe.losses.sum()) == pytest.approx(expected, rel=1e-3)
