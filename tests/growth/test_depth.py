"""Layers on top: an exact identity at first, trained like the others, and asked for by a rule."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from incrt_cli.config.schema import DepthSection, GateSection
from incrt_cli.config.schema import TrainSection as Train
from incrt_cli.data.task import Batch
from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.geometry.prediction import HeadPrediction
from incrt_cli.growth.controller import Depth, GrowthController
from incrt_cli.growth.depth import EnergyDepth, TaskDepth
from incrt_cli.growth.operations import Losses
from incrt_cli.growth.probe import Draw, TaskProbe
from incrt_cli.growth.records import Check, Event
from incrt_cli.growth.surgery import add_layer
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.training.optimizer import build_optimizer

ARCHITECTURES = {
    "attention": {},
    "feed-forward": {"ffn_multiplier": 2.0},
    "conditioned": {"conditioning": Conditioning("svd", ("q", "k", "v"), 1.0)},
    "first token": {"pooling": "first", "dropout": 0.1},
}


def _model(**changes: Any) -> Classifier:
    torch.manual_seed(0)
    return Classifier(Architecture(40, 12, 3, 16, head_width=4, value_width=4, heads=(2,), **changes))


def _batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(1, 40, (8, 12), generator=generator)
    return Batch(tokens, None, torch.randint(0, 3, (8,), generator=generator))


@pytest.mark.parametrize("changes", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_a_new_layer_changes_nothing_and_then_learns(changes: dict[str, Any]) -> None:
    model, batch = _model(**changes).eval(), _batch()
    optimizer = build_optimizer(model, Train())
    before = model(batch.tokens, None)
    layer = model.append_layer(seed=3)
    assert torch.equal(model(batch.tokens, None), before)
    add_layer(optimizer, layer, model.attention_layers[0])
    start = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(batch.tokens, None), batch.labels).backward()
        optimizer.step()
    assert all(not torch.equal(parameter, start[name]) for name, parameter in layer.named_parameters())


def test_the_shape_follows_and_a_saved_model_loads() -> None:
    model = _model(ffn_multiplier=2.0)
    model.append_layer(seed=3)
    assert model.architecture.heads == (2, 1)
    again = Classifier(model.architecture)
    again.load_state_dict(model.state_dict())
    tokens = _batch().tokens
    assert torch.equal(again(tokens, None), model(tokens, None))


def test_a_layers_weights_follow_its_seed_and_disturb_no_other_draw() -> None:
    model = _model()
    state = torch.get_rng_state()
    weights = [model.append_layer(seed).bank.input_projection for seed in (3, 3, 4)]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_the_optimiser_holds_the_new_parameters_once_with_the_decay_of_their_like() -> None:
    model = _model(ffn_multiplier=2.0)
    optimizer = build_optimizer(model, Train(weight_decay=0.5))
    add_layer(optimizer, model.append_layer(seed=3), model.attention_layers[0])
    held = [(id(p), group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(held) == sorted((id(p), 0.5 if p.ndim > 1 else 0.0) for p in model.parameters())


class Bench:
    """A model that stands still under a gate that may add layers."""

    def __init__(self, rows: Any = None, settings: dict[str, Any] | None = None, **depth: Any) -> None:
        self.model, self.batch = _model(), _batch()
        gate = GateSection(**{"tracker": "exact", **(settings or {})})
        section = DepthSection(enabled=True, **{"patience": 2, **depth})
        optimizer = torch.optim.AdamW(self.model.parameters())
        self.controller = GrowthController(
            self.model, optimizer, gate, 0, rows, Depth(section, lambda: [self.batch])
        )
        self.controller.calibrate([self.batch])

    def check(self, times: int) -> list[Event]:
        looks = (self.controller.check(step, Losses(self.loss(), self.loss)) for step in range(1, times + 1))
        return [event for _, events in looks for event in events]

    def loss(self) -> float:
        with torch.no_grad():
            return float(F.cross_entropy(self.model(self.batch.tokens, None), self.batch.labels))


def test_the_papers_rule_goes_on_to_max_layers_and_each_layer_has_its_own_account() -> None:
    bench = Bench(energy=0.01, productive=0.1, max_layers=3)
    layers = [event for event in bench.check(120) if event.kind == "layer"]
    assert [event.layer for event in layers] == [1, 2]
    assert all(event.loss_after == event.loss_before and event.lambda_max > event.theta for event in layers)
    certificates = bench.controller.certify()
    assert [certificate.layer for certificate in certificates] == [0, 1, 2]
    assert all(c.stopped_by_itself and c.w_end == pytest.approx(c.w_start + c.w_events) for c in certificates)
    predicted = [event.prediction.k_greedy for event in layers]
    assert bench.model.head_counts[1:] == predicted
    assert bench.controller.deep_enough is False, "it would go on"


def test_where_layers_may_not_come_there_is_nothing_to_say() -> None:
    model = _model()
    controller = GrowthController(model, torch.optim.AdamW(model.parameters()), GateSection(), 0)
    assert controller.deep_enough is None


def _check(**values: Any) -> Check:
    base = dict.fromkeys(Check.__dataclass_fields__, 0)
    return Check(**{**base, "learning": False, **values})


def _prediction(gamma: float) -> HeadPrediction:
    return HeadPrediction(1.0, gamma, 1.0, -1.0, 1.0, 1.0, 1, 1, (), 0)


@pytest.mark.parametrize(
    ("values", "deepens"),
    [({}, True), ({"gamma": 0.9}, False), ({"captured_share": 0.4}, False)],
    ids=["energy left by a layer that captured", "no energy left", "little captured"],
)
def test_energy_rule(values: dict[str, float], deepens: bool) -> None:
    rule = EnergyDepth(DepthSection(patience=3, energy=0.1, productive=0.5))
    rule.begin(_prediction(gamma=10.0))
    check = _check(**{"gamma": 1.1, "captured_share": 0.6, **values})
    answers = [rule.look(check, changed) is not None for changed in (False, True, False, False, False)]
    assert answers == [False, False, False, False, deepens], "a change starts the patience anew"


class Reserved(TaskProbe):
    """A probe whose reserved losses are set by hand."""

    def __init__(self, losses: torch.Tensor) -> None:
        self.initial_loss = float(losses.mean())
        self.show(losses)

    def show(self, losses: torch.Tensor) -> None:
        self.losses = losses


@pytest.mark.parametrize(
    ("left", "noise", "deepens"),
    [(0.3, 0.01, True), (0.005, 0.001, False), (0.65, 0.01, False), (0.3, 20.0, False)],
    ids=["unsolved", "solved", "brought little", "perhaps brought nothing"],
)
def test_task_rule(left: float, noise: float, deepens: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    probe = Reserved(torch.full((200,), 0.7))
    rule = TaskDepth(DepthSection(patience=2, productive=0.25), GateSection(), probe)
    rule.begin(_prediction(1.0))
    chance = torch.randn(200, generator=generator)
    probe.show(left + noise * (chance - chance.mean()))
    answers = [rule.look(_check(learning=learning), False) is not None for learning in (False, True)]
    answers += [rule.look(_check(), False) is not None for _ in range(2)]
    assert answers == [False, False, False, deepens], "learning starts the patience anew"


def test_the_gate_that_asks_the_task_sees_the_new_layer_at_the_next_look() -> None:
    batch = _batch()._replace(labels=torch.zeros(8, dtype=torch.long))
    settings = {"variant": "significance", "settle": 1, "max_heads": 1}
    bench = Bench(lambda step: Draw([batch], [batch]), settings, max_layers=2)
    bench.model.readout.bias.data[0] += 2.0  # as if the heads had learnt something
    bench.controller.stepped(1)
    (event,) = bench.check(20)
    assert (event.kind, event.layer, event.heads) == ("layer", 1, 1)
    checks, _ = bench.controller.check(21, Losses(bench.loss(), bench.loss))
    assert [check.layer for check in checks] == [0, 1]
    assert bench.controller.deep_enough, "the second layer has brought nothing yet, so it gets none on top"
