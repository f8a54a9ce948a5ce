"""Less memory by pieces and recomputing trains the same model, and memory that runs out is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from incrt_cli.config.load import load_config
from incrt_cli.config.schema import TrainSection
from incrt_cli.errors import ShortOfMemoryError
from incrt_cli.model.classifier import Architecture, Classifier
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import read_model, read_run
from incrt_cli.training import part
from incrt_cli.training.resume import resume
from incrt_cli.training.run import train
from incrt_cli.training.shortage import enough_to_look
from tests.training.small import SMALL, Ears
from tests.training.undisturbed import differences

REFUSED = (
    "[enforce fail at alloc_cpu.cpp:128] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
    "allocate 9663676416 bytes. Error code 12 (Cannot allocate memory)"
)


def _train(folder: Path, *overrides: str) -> Path:
    return train(load_config(None, overrides, SMALL), folder, Ears(), summarise_run)


def test_recomputing_changes_nothing_that_a_run_writes(tmp_path: Path) -> None:
    """Births by a gate that taps the layers, with dropout: bit for bit."""
    keys = (
        "data.examples=400",
        "train.epochs=5",
        "model.dropout=0.1",
        "depth.enabled=true",
        "depth.patience=2",
    )
    plain = _train(tmp_path / "plain", *keys)
    again = _train(tmp_path / "again", *keys, "train.recompute=true")
    assert (read_run(plain).result or {})["births"] > 0
    assert differences(plain, again) == []


def test_a_step_in_pieces_grows_the_same_model(tmp_path: Path) -> None:
    keys = ("gate.variant=paper", "gate.growth_fraction=0.3", "gate.prune_ratio=0.9", "gate.max_heads=4")
    one, three = _train(tmp_path / "one", *keys), _train(tmp_path / "three", *keys, "train.accumulate=3")
    events = [[(e["step"], e["kind"], e["head"]) for e in read_run(run).events or ()] for run in (one, three)]
    assert events[0] == events[1] and events[0]
    weights, others = read_model(one)[0], read_model(three)[0]
    for name, values in weights.items():
        torch.testing.assert_close(values, others[name], rtol=0.0, atol=1e-4)


def _refuse(monkeypatch: pytest.MonkeyPatch, call: int, text: str = REFUSED) -> None:
    calls, loss_of = iter(range(1, 10_000)), part.loss_of

    def refusing(*arguments: Any) -> torch.Tensor:
        if next(calls) == call:
            raise RuntimeError(text)
        return loss_of(*arguments)

    monkeypatch.setattr(part, "loss_of", refusing)


def test_memory_that_runs_out_is_told_and_the_run_goes_on_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("gate.enabled=false", "model.heads=3", "model.layers=2")
    whole = _train(tmp_path / "whole", *keys)
    _refuse(monkeypatch, call=8)  # five steps are an epoch, and one has a checkpoint
    with pytest.raises(ShortOfMemoryError) as caught:
        _train(tmp_path / "run", *keys)
    message = str(caught.value)
    assert message.startswith("step 7 of 20: not enough memory for a step with 32 rows of up to 10 tokens")
    for named in (
        "3 + 3 heads (tried to allocate 9663676416 bytes)", "train.accumulate (1 now)", "train.recompute",
        "train.batch_size", "data.max_tokens", "gate.max_heads", "incrt train --resume",
    ):  # fmt: skip
        assert named in message
    ears = Ears()
    resume(tmp_path / "run", ["train.accumulate=2", "train.recompute=true"], ears, summarise_run)
    assert "goes on from step 5 of 20" in ears.said
    assert any("train.accumulate was 1, is 2" in line for line in ears.said)
    weights, others = read_model(whole)[0], read_model(tmp_path / "run")[0]
    for name, values in weights.items():
        torch.testing.assert_close(values, others[name], rtol=0.0, atol=1e-4)


def test_another_error_passes_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refuse(monkeypatch, call=2, text="something else")
    with pytest.raises(RuntimeError, match="something else"):
        _train(tmp_path / "run", "gate.enabled=false")


def test_a_look_of_the_gate_is_not_told_to_take_smaller_pieces() -> None:
    model = Classifier(Architecture(8, 10, 2, 8, 4, 4, heads=(1,)))
    with pytest.raises(ShortOfMemoryError) as caught, enough_to_look(np.array([3, 8]), model, TrainSection()):
        raise MemoryError
    assert "a look of the gate with 512 rows of up to 8 tokens" in str(caught.value)
    assert "set train.recompute=true" in str(caught.value) and "accumulate" not in str(caught.value)


@pytest.mark.slow
def test_a_process_with_little_memory_ends_with_the_message(tmp_path: Path) -> None:
    config = {
        **SMALL,
        "data": {**SMALL["data"], "fillers": 200, "examples": 2000},
        "gate": {"enabled": False},
    }
    config["model"] = {"width": 16, "head_width": 8, "value_width": 4, "heads": 256}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    command = ["train", str(tmp_path / "config.yaml"), "--run-dir", str(tmp_path / "run")]
    limited = (
        "import json, resource, sys, torch\n"
        "from incrt_cli.cli.main import run\n"
        "import incrt_cli.report.render, incrt_cli.training.run\n"
        "torch.optim.AdamW([torch.zeros(1)])\n"  # imports the compiler, and with it CUDA's libraries
        "size = next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmSize'))\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1024 * size + 400 * 2**20,) * 2)\n"
        "sys.exit(run(json.loads(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", limited, json.dumps(command)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "MiB are free; should it not fit" in done.stdout
    assert "not enough memory for an evaluation with 128 rows of up to 206 tokens" in done.stderr
    assert "a bug in" not in done.stderr
