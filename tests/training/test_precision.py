"""bfloat16 is the arithmetic of forward and backward pass alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from incrt_cli.config.load import load_config
from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import Batch
from incrt_cli.growth.moments import RunningMoment
from incrt_cli.growth.probe import Draw, TaskProbe
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import read_model, read_run
from incrt_cli.training.part import Part, loss_of
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train
from tests.training.test_run import BASE

CPU = torch.device("cpu")
HALF = TrainSection(precision="bfloat16")


def _model() -> Classifier:
    torch.manual_seed(0)
    shape = Architecture(32, 9, 3, width=8, head_width=4, value_width=4, heads=(2,), ffn_multiplier=2.0)
    return Classifier(shape)


def _batch() -> Batch:
    tokens = torch.randint(2, 32, (6, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(9) < torch.tensor([[9], [5], [4], [7], [9], [2]])
    return Batch(tokens * mask, mask, torch.arange(6) % 3)


def test_products_are_coarse_and_what_is_measured_is_not() -> None:
    """Loss, gradients, Z and C are float32 or better; only what a product gives is bfloat16."""
    model, batch = _model(), _batch()
    layer, moment = model.attention_layers[0], RunningMoment(8, 0.9, CPU)
    seen: dict[str, torch.dtype] = {}
    layer.norm.register_forward_hook(lambda module, inputs, z: seen.update(z=z.dtype))
    layer.bank.register_forward_hook(lambda module, inputs, out: seen.update(heads=out.dtype))
    layer.observer = moment
    loss = loss_of(model, Part(batch, 1.0), HALF, CPU)
    loss.backward()
    assert seen == {"z": torch.float32, "heads": torch.bfloat16} and loss.dtype == torch.float32
    assert {parameter.grad.dtype for parameter in model.parameters() if parameter.grad is not None} == {
        torch.float32
    }
    assert moment.fold().dtype == torch.float64
    whole = loss_of(_model(), Part(batch, 1.0), TrainSection(), CPU)
    assert 0.0 < abs(float((loss - whole).detach())) < 0.01


def test_c_is_what_it_is_without_bfloat16() -> None:
    def moment(settings: TrainSection) -> torch.Tensor:
        model, found = _model(), RunningMoment(8, 0.9, CPU)
        model.attention_layers[0].observer = found
        loss_of(model, Part(_batch(), 1.0), settings, CPU)
        return found.fold()

    assert torch.equal(moment(HALF), moment(TrainSection()))


def test_the_probe_looks_in_float32() -> None:
    probe = TaskProbe(_model(), lambda step: Draw([_batch()], [_batch()]), horizon=2)
    probe.look(0)
    view = probe.sight.search[0]
    assert view.z.dtype == view.pull.dtype == probe.losses.dtype == torch.float32


def test_a_run_in_bfloat16_grows_and_stays_close_to_float32(tmp_path: Path) -> None:
    runs = {}
    for name in ("float32", "bfloat16"):
        settings = [f"train.precision={name}", "model.dropout=0", "baseline=false"]
        config = load_config(None, settings, BASE)
        runs[name] = read_run(train(config, tmp_path / name, Silent(), summarise_run))
    whole, half = runs["float32"], runs["bfloat16"]
    assert half.result["heads"] == whole.result["heads"] > 1
    assert half.result["test_loss"] == pytest.approx(whole.result["test_loss"], rel=0.2)
    assert half.result["test_loss"] != whole.result["test_loss"]
    # Before the first step nothing has been rounded: Γ⁽⁰⁾ and the prediction are those of float32.
    assert half.prediction["layers"] == whole.prediction["layers"]
    weights, *_ = read_model(tmp_path / "bfloat16")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
