"""Which heads of a run own a plane: the account of births and prunes, in bank order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from incrt_cli.diagnosis.subject import planes_owned
from incrt_cli.rundir import Run


def event(kind: str, head: Any, layer: int = 0) -> dict[str, Any]:
    return {"kind": kind, "head": head, "layer": layer}


@pytest.mark.parametrize(
    ("events", "owned"),
    [
        ([], [0]),
        ([event("birth", 1), event("birth", 2)], [0, 1, 1]),
        ([event("birth", 1), event("birth", 2), event("prune", 1)], [0, 1]),
        ([event("birth", 1), event("prune", 0)], [1]),
        ([event("birth", 1), event("prune_undone", 1)], [0, 1]),
        ([event("birth", 1, layer=1)], [0]),
        ([event("birth", None)], [0]),
        ([event("capture", 0), event("birth", 1), event("capture", 0), event("capture", 1)], [2, 2]),
    ],
)
def test_events_give_the_planes_that_every_head_owns(events: list[dict[str, Any]], owned: list[int]) -> None:
    run = Run(Path("run"), "run", "complete", (), events=tuple(events))
    assert planes_owned(run, 0, first_heads=1) == owned


def test_a_layer_that_came_started_with_one_head_whatever_the_first_ones_had() -> None:
    came = (event("layer", 0, layer=2), event("birth", 1, layer=2), event("birth", 4, layer=0))
    run = Run(Path("run"), "run", "complete", (), events=came)
    assert planes_owned(run, 2, first_heads=4) == [0, 1]
    assert planes_owned(run, 0, first_heads=4) == [0, 0, 0, 0, 1]
