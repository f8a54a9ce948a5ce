"""`gate.variant` on weights that stand still: where each rule of growth ends, and what it gives birth to."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.data.task import Batch
from incrt_cli.growth.controller import GrowthController
from incrt_cli.growth.operations import Losses
from incrt_cli.model.classifier import Architecture, Classifier

WIDTH = 32


def _grown(variant: str, seed: int) -> tuple[Classifier, GrowthController, int]:
    """A frozen random model after as many looks as it has dimensions, its controller and its k_greedy."""
    torch.manual_seed(seed)
    model = Classifier(Architecture(50, 12, 3, WIDTH, head_width=8, value_width=8, heads=(1,)))
    gate = GateSection(variant=variant, tracker="exact")  # type: ignore[arg-type]
    controller = GrowthController(model, torch.optim.AdamW(model.parameters()), gate, seed)
    (prediction,) = controller.calibrate(
        [Batch(torch.randint(1, 50, (32, 12)), None, torch.zeros(32).long())]
    )
    for step in range(1, WIDTH + 1):
        controller.check(step, Losses(0.0, lambda: 0.0))
    return model, controller, prediction.k_greedy


@pytest.mark.parametrize("seed", range(2))
def test_without_a_task_the_paper_stops_as_predicted_and_the_notebook_goes_on_with_the_width(
    seed: int,
) -> None:
    model, _, predicted = _grown("paper", seed)
    assert model.head_counts == [predicted]
    other, controller, same = _grown("notebook", seed)
    assert same == predicted and other.head_counts[0] > max(1.5 * predicted, 0.5 * WIDTH)
    (certificate,) = controller.certify()
    # It ends not because the motor is captured but because next to no direction is left.
    assert certificate.gamma > 1.5 * _grown("paper", seed)[1].certify()[0].gamma


def test_the_notebooks_heads_are_random_and_the_papers_skew_but_neither_moves_the_function() -> None:
    for variant, skew in (("paper", True), ("notebook", False)):
        bank = _grown(variant, 0)[0].attention_layers[0].bank
        form = (bank.w_q[1] @ bank.w_k[1].T).detach()
        assert (float((form + form.T).norm()) < 1e-5) == skew
        assert not bank.output_projection[1:].any()
