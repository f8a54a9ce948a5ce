"""Scores of newborns on a task where it is known which plane a head must have."""

from __future__ import annotations

import copy

import pytest
import torch

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import Batch
from incrt_cli.diagnosis.newborns import Nursery, newborn_bank
from incrt_cli.geometry.conditioning import Conditioning
from incrt_cli.growth.birth import newborn_head
from incrt_cli.growth.surgery import add_head
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.model.head_bank import HeadBank
from incrt_cli.training.optimizer import build_optimizer

WIDTH, HEAD, TOKENS = 16, 4, 9
SETTINGS = TrainSection(learning_rate=1e-2, device="cpu")
# Every token carries ±PAYLOAD and ASKS; one of them is MARKED, and its payload is the label.
ASKS, MARKED, PAYLOAD = 0, 1, 2


def marked_rows(rows: int, seed: int) -> Batch:
    """Tokens 1, 2: payload −, +; 3, 4: the same, marked."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, 3, (rows, TOKENS), generator=generator)
    labels = tokens[:, 0] - 1
    tokens[:, 0] += 2
    return Batch(tokens, None, labels)


def marked_model(conditioning: Conditioning | None = None) -> Classifier:
    torch.manual_seed(0)
    shape = Architecture(5, TOKENS, 2, WIDTH, HEAD, HEAD, (1,), positions=False, conditioning=conditioning)
    model = Classifier(shape)
    embedding = torch.zeros(5, WIDTH)
    embedding[1:, ASKS] = 1.0
    embedding[1:, PAYLOAD] = torch.tensor([-1.0, 1.0, -1.0, 1.0])
    embedding[3:, MARKED] = 1.5
    embedding[1:, 3] = -embedding[1:, :3].sum(dim=1)  # LayerNorm then shifts nothing
    model.embedding.weight.data.copy_(embedding)
    return model


def planes() -> list[torch.Tensor]:
    """The one that asks for what is marked, then five in directions that no token has."""
    unit = torch.eye(WIDTH, dtype=torch.float64)
    return [unit[:, [ASKS, MARKED]]] + [unit[:, [i, i + 1]] for i in range(4, 14, 2)]


def newborns(model: Classifier) -> list[HeadBank]:
    bank = model.attention_layers[0].bank
    heads = [newborn_head(plane, HEAD, HEAD, TOKENS, torch.Generator().manual_seed(3)) for plane in planes()]
    return [newborn_bank(bank, [head]) for head in heads] + [newborn_bank(bank, heads)]


def test_the_plane_that_the_task_needs_scores_highest() -> None:
    model = marked_model()
    *single, together = newborns(model)
    nursery = Nursery(model, model.attention_layers[0], SETTINGS)
    batches = [nursery.rows(marked_rows(64, seed)) for seed in range(20)]
    judges = [nursery.rows(marked_rows(512, 99))]
    scores = nursery.gradient_scores(together, batches)
    before = nursery.mean_loss(judges)
    decreases = [nursery.decrease(one, batches, judges, before) for one in single]
    assert int(scores.unbiased.argmax()) == 0 and scores.unbiased[0] > 2 * scores.unbiased[1:].max()
    assert int(scores.plain.argmax()) == 0
    assert decreases[0] > 0.0 and decreases[0] > 1.5 * max(decreases[1:])


def test_no_signal_leaves_only_the_noise_that_the_unbiased_score_takes_out() -> None:
    model = marked_model()
    nursery = Nursery(model, model.attention_layers[0], SETTINGS)
    chance = torch.Generator().manual_seed(7)
    batches = []
    for seed in range(40):
        rows = marked_rows(64, seed)
        batches.append(rows._replace(labels=torch.randint(0, 2, (64,), generator=chance)))
    # Without a bias or a slope to correct, shuffled labels pull nowhere on average.
    model.readout.weight.data.normal_(std=0.01, generator=chance)
    scores = nursery.gradient_scores(newborns(model)[-1], map(nursery.rows, batches))
    assert bool((scores.unbiased.abs() < 0.2 * scores.plain).all()) and bool((scores.plain > 0).all())


@pytest.mark.parametrize("conditioning", [None, Conditioning("diagonal", ("v",), 2.0)])
def test_the_gradient_is_that_of_a_head_born_into_the_layer(conditioning: Conditioning | None) -> None:
    model = marked_model(conditioning)
    grown, rows = copy.deepcopy(model), marked_rows(32, 5)
    head = newborn_head(planes()[0], HEAD, HEAD, TOKENS, torch.Generator().manual_seed(3))
    bank = grown.attention_layers[0].bank
    add_head(bank, build_optimizer(grown, SETTINGS), head)
    torch.nn.functional.cross_entropy(grown(rows.tokens, None), rows.labels).backward()
    assert bank.output_projection.grad is not None
    expected = float(bank.output_projection.grad[1].square().sum())
    nursery = Nursery(model, model.attention_layers[0], SETTINGS)
    found = nursery.gradient_scores(
        newborn_bank(model.attention_layers[0].bank, [head]), [nursery.rows(rows)]
    )
    assert float(found.plain) == pytest.approx(expected, rel=1e-5)
    assert bool(found.unbiased.isnan().all())  # one batch has no other to be multiplied with


def test_a_newborn_changes_nothing_before_its_first_step_and_nothing_else_after() -> None:
    model = marked_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    nursery = Nursery(model, model.attention_layers[0], SETTINGS)
    judges, step = ([nursery.rows(marked_rows(64, seed))] for seed in (1, 2))
    loss, newborn = nursery.mean_loss(judges), newborns(model)[0]
    assert nursery.decrease(newborn, [], judges, loss) == pytest.approx(0.0, abs=1e-7)
    assert nursery.decrease(newborn, step, judges, loss) != 0.0
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert nursery.mean_loss(judges) == loss and model.attention_layers[0].tap is None


def test_a_mean_loss_counts_rows_and_not_batches() -> None:
    model = marked_model()
    nursery, rows = Nursery(model, model.attention_layers[0], SETTINGS), marked_rows(40, 1)
    parts = [Batch(rows.tokens[a:b], None, rows.labels[a:b]) for a, b in ((0, 32), (32, 40))]
    whole = nursery.mean_loss([nursery.rows(rows)])
    assert nursery.mean_loss([nursery.rows(part) for part in parts]) == pytest.approx(whole, rel=1e-5)
