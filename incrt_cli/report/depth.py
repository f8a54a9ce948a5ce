"""How deep a model grew: its layers, their heads, and when each layer came."""

from __future__ import annotations

from collections.abc import Sequence

from incrt_cli.report.results import run_label
from incrt_cli.report.rows import Row, flag, numbers, run_row
from incrt_cli.report.table import ABSENT, Table, whole, yes_no
from incrt_cli.rundir import Run

_NOTE = (
    "Deep enough: at the last check the top layer asked for none above it. Heads predicted before the first "
    "step are those of the layers at the start; a later layer's prediction is in its line of events.jsonl."
)


def depth_table(runs: Sequence[Run]) -> Table | None:
    """One line per run in which layers may come; None where there is none."""
    deep = [run for run in runs if flag(run.result or {}, "deep_enough") is not None]
    if not deep:
        return None
    columns = ("run", "layers at start", "layers", "heads per layer", "layers came at steps", "deep enough")
    return Table("Depth", columns, tuple(_line(run, run_row(run)) for run in deep), (_NOTE,))


def _line(run: Run, row: Row) -> tuple[str, ...]:
    steps = numbers(run.result, "layer_steps")
    return (
        run_label(row),
        whole(row["layers_start"]),
        whole(row["layers"]),
        ", ".join(map(whole, row["heads_per_layer"])) or ABSENT,
        ", ".join(map(whole, steps)) or ABSENT,
        yes_no(flag(run.result or {}, "deep_enough")),
    )
