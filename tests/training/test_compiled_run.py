"""Runs with train.compile: the ones without it, to rounding."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._inductor.exc import InvalidCxxCompiler

from incrt_cli.config.load import load_config
from incrt_cli.errors import UserError
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import Run, read_run
from incrt_cli.training.progress import Silent
from incrt_cli.training.resume import resume
from incrt_cli.training.run import train
from tests.training.small import Ears
from tests.training.test_run import BASE

pytestmark = pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"
)
SETTINGS = ("model.dropout=0", "baseline=false")


def _train(folder: Path, *overrides: str) -> Path:
    return train(load_config(None, [*SETTINGS, *overrides], BASE), folder, Silent(), summarise_run)


def _events(run: Run) -> list[tuple[Any, ...]]:
    return [(event["step"], event["kind"], event["head"]) for event in run.events]


@pytest.mark.slow
def test_a_compiled_run_grows_like_the_other_and_compiles_seldom(tmp_path: Path) -> None:
    compiled, plain = (
        read_run(_train(tmp_path / str(on), f"train.compile={str(on).lower()}")) for on in (True, False)
    )
    assert compiled.result["compiled"] and 0 < compiled.result["recompilations"] <= 3
    assert not plain.result["compiled"] and plain.result["recompilations"] is None
    assert _events(compiled) == _events(plain) and compiled.result["heads"] > 3
    assert compiled.result["test_loss"] == pytest.approx(plain.result["test_loss"], rel=1e-3)
    rows = [[row for row in run.metrics if row["kind"] == "evaluation"] for run in (compiled, plain)]
    for one, other in zip(*rows, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-3)


def test_a_torch_whose_compiler_has_other_parts_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "incrt_cli.model.compiled", None)
    with pytest.raises(UserError, match=r"the compiler of torch 2.*train\.compile=false"):
        _train(tmp_path / "run", "train.compile=true")
    assert not (tmp_path / "run").exists()


def test_a_run_that_cannot_compile_ends_with_advice_that_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        """Takes the first variant, as a compiler that is lost on the way would have."""
        if len(made) == 1:
            raise InvalidCxxCompiler
        made.append(graph)
        return graph.forward

    made: list[torch.fx.GraphModule] = []
    monkeypatch.setattr("incrt_cli.model.compiled.compile_fx", late)
    with pytest.raises(
        UserError, match=r"after 1 compilations.*No working C\+\+ compiler.*train\.compile=false"
    ):
        _train(tmp_path / "run", "train.compile=true", "train.checkpoint_every=0.3")
    ears = Ears()
    run = read_run(resume(tmp_path / "run", ["train.compile=false"], ears, summarise_run))
    assert run.status == "complete" and run.result["heads"] > 1 and not run.result["compiled"]
    assert any(said.startswith("warning: compiled was True, is False") for said in ears.said)
