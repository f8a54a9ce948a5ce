"""The table of what conditioning did to attention, before the first step and after the last (METHOD §9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrt_cli.report.rows import entries, number
from incrt_cli.report.table import Table, significant, whole
from incrt_cli.rundir import Run

_NOTES = (
    "Medians over heads of W, as trained, and of W + correction, which the model computes with (one and the "
    "same where nothing is corrected); worst: the head with the largest κ or the least entropy. – stands for "
    "an infinite κ.",
    "κ(Jacobian): of one head's output in its W_Q, W_K and W_V, exactly, on the first tokens of a training "
    "row; its bound follows from the norms of Z W_Q, Z W_K and Z W_V. Entropy: 0 where every query reads one "
    "token, 1 where it reads all alike.",
    "Heads born on the gate's plane keep W_Q and W_K as they are: only their W_V is corrected.",
)


def conditioning_table(run: Run) -> Table | None:
    """One line for every layer, look and figure; None where the run measured none."""
    looks = [row for row in run.metrics or () if row.get("kind") == "conditioning"]
    if not looks:
        return None
    lines = tuple(_line(look, figure) for look in looks for figure in entries(look, "figures"))
    columns = ("figure", "layer", "step", "heads", "W alone", "W + correction", "worst")
    return Table("Conditioning", columns, lines, _NOTES)


def _line(look: Mapping[str, Any], figure: Mapping[str, Any]) -> tuple[str, ...]:
    place = tuple(whole(number(look, key)) for key in ("layer", "step", "heads"))
    values = tuple(significant(number(figure, key)) for key in ("before", "after", "worst"))
    return (str(figure.get("figure")), *place, *values)
