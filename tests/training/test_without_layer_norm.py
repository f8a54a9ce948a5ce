"""A model without LayerNorm grows, is saved, is measured and is read again like any other."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from incrt_cli.complexity.classifier import classifier_weights
from incrt_cli.complexity.source import read_weights
from incrt_cli.complexity.weights import measure
from incrt_cli.config.load import load_config
from incrt_cli.diagnosis.subject import of_run
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import Run, read_model, read_run
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train

BASE: dict[str, Any] = {
    "name": "bare",
    "data": {"kind": "dial", "lookups": 1, "examples": 400},
    "model": {"width": 16, "head_width": 4, "value_width": 4, "ffn_multiplier": 2.0, "layer_norm": False},
    "gate": {"variant": "paper", "calibration_batches": 2, "check_every": 2},
    "train": {"epochs": 2.0, "device": "cpu", "threads": 1},
    "baseline": False,
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return read_run(train(load_config(None, (), BASE), folder, Silent(), summarise_run))


def test_its_heads_are_predicted_and_grown(bare: Run) -> None:
    assert bare.status == "complete" and bare.problems == ()
    assert bare.prediction["k_greedy"] >= 1 and bare.result["births"] > 0


def test_the_saved_model_says_so_and_is_read_back_as_it_was(bare: Run) -> None:
    state, architecture, _, _ = read_model(bare.path)
    assert architecture["layer_norm"] is False and not any("norm" in name for name in state)
    model = of_run(bare.path, (), lambda _: None).model
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())
    seen: list[torch.Tensor] = []
    model.attention_layers[0].observer = lambda z, _: seen.append(z)
    tokens = torch.arange(1, 6).unsqueeze(0)
    model.eval()(tokens, None)
    torch.testing.assert_close(seen[0], (model.embedding(tokens) + model.positions[:5]).detach())


def test_bound_finds_the_feed_forward_block(bare: Run) -> None:
    (layer,) = read_weights(bare.path).layers
    assert layer.m_in.shape == (16, 32) and layer.m_out.shape == (32, 16)
    live = measure(classifier_weights(of_run(bare.path, (), lambda _: None).model))
    assert measure(read_weights(bare.path)).complexity.b_adaptive == live.complexity.b_adaptive
