"""What a run writes is what its reader returns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from incrt_cli.errors import UserError
from incrt_cli.rundir import RunWriter, read_model, read_run
from incrt_cli.rundir.plain import to_json, to_plain

STATE = {"bank.query": torch.randn(2, 3, 4), "steps": torch.tensor(7), "half": torch.ones(2).bfloat16()}
ARCHITECTURE = {"width": 4, "heads": [2]}
LABELS = ["Alpha", "B.1.1.7 | β"]
VOCABULARY = {"kind": "kmer", "k": 6}


@pytest.fixture
def writer(tmp_path):
    return RunWriter.create(tmp_path / "run", "demo")


def test_every_part_comes_back(writer):
    writer.write_config("name: demo\nseed: 3\ndata: {kind: synthetic}\n")
    writer.write_environment({"incrt": "0.1.0", "seed": 3})
    writer.write_data({"records": 10})
    writer.write_prediction({"layers": [], "k_law": 4.5})
    writer.append_event({"kind": "birth", "step": 20})
    writer.append_metrics({"kind": "check", "step": 20})
    writer.append_metrics({"kind": "check", "step": 40})
    writer.write_result({"status": "complete", "accuracy": 0.5})
    run = read_run(writer.path)
    assert (run.name, run.status, run.problems) == ("run", "complete", ())
    assert run.config == {"name": "demo", "seed": 3, "data": {"kind": "synthetic"}}
    assert run.environment == {"incrt": "0.1.0", "seed": 3}
    assert run.data == {"records": 10}
    assert run.prediction is not None and run.prediction["k_law"] == 4.5
    assert run.events == ({"kind": "birth", "step": 20},)
    assert run.metrics == ({"kind": "check", "step": 20}, {"kind": "check", "step": 40})
    assert run.result == {"status": "complete", "accuracy": 0.5}


def test_the_prediction_carries_the_time_of_its_writing_whatever_it_was_given(writer):
    writer.write_prediction({"k_law": 1.0, "written_at": "1999-01-01T00:00:00+00:00"})
    text = json.loads((writer.path / "prediction.json").read_text())["written_at"]
    written = datetime.fromisoformat(text)
    assert written.utcoffset() == timedelta(0)
    assert len(text.partition(".")[2]) == len("123456+00:00")
    assert abs(datetime.now(timezone.utc) - written) < timedelta(minutes=1)


def test_the_model_comes_back_bit_for_bit(writer):
    writer.write_model(STATE, ARCHITECTURE, LABELS, VOCABULARY)
    state, architecture, labels, vocabulary = read_model(writer.path)
    assert state.keys() == STATE.keys()
    for name, tensor in STATE.items():
        assert state[name].dtype == tensor.dtype
        assert torch.equal(state[name], tensor)
    assert (architecture, labels, vocabulary) == (ARCHITECTURE, LABELS, VOCABULARY)


def test_a_model_may_hold_views_shared_tensors_and_gradients(writer):
    bank = torch.randn(4, 6, requires_grad=True)
    writer.write_model({"part": bank[:2].T, "whole": bank, "again": bank}, ARCHITECTURE, LABELS, VOCABULARY)
    state = read_model(writer.path)[0]
    assert torch.equal(state["part"], bank[:2].T)
    assert torch.equal(state["again"], bank)


@pytest.mark.parametrize("name", ["model.safetensors", "architecture.json", "labels.json", "vocabulary.json"])
@pytest.mark.parametrize("damage", ["absent", "cut", "other"])
def test_a_missing_or_damaged_model_file_is_named(writer, name, damage):
    writer.write_model(STATE, ARCHITECTURE, LABELS, VOCABULARY)
    path = writer.path / "model" / name
    content = path.read_bytes()
    path.unlink()
    if damage != "absent":
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else b"3")
    with pytest.raises(UserError) as caught:
        read_model(writer.path)
    assert str(path) in str(caught.value)


def test_tables_are_written_only_under_a_plain_name(writer):
    writer.write_text("report.md", "| θ |\n")
    assert (writer.path / "report.md").read_text(encoding="utf-8") == "| θ |\n"
    with pytest.raises(ValueError, match="not a plain file name"):
        writer.write_text("../report.md", "")


@dataclass
class _Layer:
    heads: int
    folder: Path


def test_scalars_arrays_dataclasses_paths_and_sets_become_plain():
    value = {
        "numpy": np.float32(0.5),
        "count": np.int64(3),
        "flag": np.bool_(True),
        "array": np.eye(2),
        "torch": torch.tensor(2.0, requires_grad=True),
        "vector": torch.arange(3),
        "layer": _Layer(2, Path("runs") / "demo"),
        "set": {"b", "a"},
        3: (1, 2),
    }
    assert to_plain(value) == {
        "numpy": 0.5,
        "count": 3,
        "flag": True,
        "array": [[1.0, 0.0], [0.0, 1.0]],
        "torch": 2.0,
        "vector": [0, 1, 2],
        "layer": {"heads": 2, "folder": str(Path("runs") / "demo")},
        "set": ["a", "b"],
        "3": [1, 2],
    }


@pytest.mark.parametrize("value", [float("nan"), np.float64("inf"), torch.tensor(float("-inf"))])
def test_non_finite_numbers_become_null_in_every_file(writer, value):
    writer.write_result({"loss": value, "deep": [{"x": np.array([1.0, value])}]})
    writer.append_event({"loss": value})
    assert json.loads((writer.path / "result.json").read_text()) == {
        "loss": None,
        "deep": [{"x": [1.0, None]}],
    }
    assert (writer.path / "events.jsonl").read_text() == '{"loss": null}\n'


def test_a_value_that_is_no_data_is_a_mistake_of_the_program():
    with pytest.raises(TypeError, match="cannot write a object"):
        to_plain({"x": object()})


# Subnormal floats cannot be drawn once torch flushes them to zero, as the whole test suite makes it do.
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
LEAVES = NUMBERS | st.none() | st.booleans() | st.text()


@settings(max_examples=50)
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_plain_values_survive_json_on_one_line(value):
    text = to_json(value, indent=None)
    assert "\n" not in text
    assert json.loads(text) == value


def test_a_file_name_that_is_not_utf8_can_be_written(writer):
    name = b"genomes-\xff.fasta".decode("utf-8", "surrogateescape")
    writer.write_data({"file": name})
    writer.write_text("report.md", name)
    assert json.loads((writer.path / "data.json").read_text(encoding="utf-8")) == {"file": name}
