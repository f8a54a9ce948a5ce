"""Which heads of a run own a plane: the account of births and prunes, in bank order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from incrt_cli.diagnosis.subject import _grown
from incrt_cli.rundir import Run


def event(kind: str, head: Any, layer: int = 0) -> dict[str, Any]:
    return {"kind": kind, "head": head, "layer": layer}


@pytest.mark.parametrize(
    ("events", "grown"),
    [
        ([], [False]),
        ([event("birth", 1), event("birth", 2)], [False, True, True]),
        ([event("birth", 1), event("birth", 2), event("prune", 1)], [False, True]),
        ([event("birth", 1), event("prune", 0)], [True]),
        ([event("birth", 1), event("prune_undone", 1)], [False, True]),
        ([event("birth", 1, layer=1)], [False]),
        ([event("birth", None)], [False]),
    ],
)
def test_births_and_prunes_give_the_grown_heads(events: list[dict[str, Any]], grown: list[bool]) -> None:
    run = Run(Path("run"), "run", "complete", (), events=tuple(events))
    assert _grown(run, 0, first_heads=1) == grown
