"""A grown run beside its controls (METHOD §5), read from the run folders that lie in one parent folder."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from incrt_cli.controls.counts import GROWN, equal_size, parse_name, static, static_heads, sweep
from incrt_cli.report.rows import Row, number, run_row, section
from incrt_cli.report.table import ABSENT, Table, mean_sd, percent, shortened, whole
from incrt_cli.rundir import Run

Cells = Mapping[str, Mapping[int, Row]]  # control -> seed -> the run's row
_COLUMNS = ("control", "heads", "accuracy %", "parameters", "seconds", "seeds", "growth stopped")
_WORDS = {
    "permuted": "permuted labels",
    "frozen": "frozen (no training)",
    "random": "random directions at birth",
    "significance": "significance gate",
    "paper": "paper's gate",
    "notebook": "notebook gate",
}
_NOTE = "Mean ± sample standard deviation over seeds; accuracy on the test split."


def controls_tables(runs: Sequence[Run]) -> list[Table]:
    """One table for every parent folder that holds a grown run named as `incrt train --controls` does."""
    parents: dict[Path, list[Run]] = {}
    for run in runs:
        if run.status == "complete" and parse_name(run.name):
            parents.setdefault(run.path.parent, []).append(run)
    families = ((parent, _cells(members), _layers(members)) for parent, members in parents.items())
    return [
        controls_table(parent.name, cells, layers) for parent, cells, layers in families if GROWN in cells
    ]


def controls_table(name: str, cells: Cells, layers: int) -> Table:
    """Heads, accuracy and cost of each control; at the end the count that the static sweep asks for."""
    sizes = {seed: equal_size(row["heads"], layers) for seed, row in cells[GROWN].items() if row["heads"]}
    lines = [_line(label, rows) for label, rows in _conditions(cells, sizes) if rows]
    deepest = max((row["layers"] or layers for row in cells[GROWN].values()), default=layers)
    depth = (f"Grown runs came to {deepest:g} layers; static ones have the {layers} at the start.",)
    notes = (_NOTE, *(depth if deepest > layers else ()), _needed_note(cells, sizes))
    return Table(f"Controls: {name}", _COLUMNS, tuple(lines), notes)


def needed_heads(accuracies: Mapping[int, Sequence[float]], records: float | None) -> tuple[int, int, float]:
    """`(needed, best, se)` of accuracies by static head count: the smallest count whose mean is within one
    standard error of the best mean. `se` is that of the best: over its seeds, or binomial with one seed
    and `records` test records. Needs one accuracy at least for every count.
    """
    means = {heads: statistics.fmean(values) for heads, values in accuracies.items()}
    best = min(means, key=lambda heads: (-means[heads], heads))
    values, share = accuracies[best], means[best]
    if len(values) > 1:
        error = statistics.stdev(values) / math.sqrt(len(values))
    else:
        error = math.sqrt(share * (1 - share) / records) if records else 0.0
    # Sums of the same accuracies in another order may differ in the last bit.
    return min(heads for heads in means if means[heads] >= share - error - 1e-12), best, error


def _cells(runs: Iterable[Run]) -> dict[str, dict[int, Row]]:
    cells: dict[str, dict[int, Row]] = {}
    for run in runs:
        if name := parse_name(run.name):
            cells.setdefault(name.control, {})[name.seed] = run_row(run)
    return cells


def _layers(runs: Sequence[Run]) -> int:
    return int(number(section(runs[0].config, "model"), "layers") or 1)


def _conditions(cells: Cells, sizes: Mapping[int, int]) -> Iterator[tuple[str, list[Row]]]:
    yield GROWN, list(cells[GROWN].values())
    for control, words in _WORDS.items():
        yield words, list(cells.get(control, {}).values())
    beside = (cells.get(static(size), {}).get(seed) for seed, size in sizes.items())
    yield "static, as many as grown", [row for row in beside if row]
    counts = {heads for control in cells if (heads := static_heads(control))}
    # A count that only some seeds grew stands in the line above; the sweep has all of them.
    for heads in sorted(counts & {*sweep(max(sizes.values(), default=1))}):
        yield f"static, {heads} a layer", list(cells[static(heads)].values())


def _line(label: str, rows: Sequence[Row]) -> tuple[str, ...]:
    def column(key: str) -> list[float | None]:
        return [row[key] for row in rows]

    accuracy = mean_sd(column("accuracy"), scale=100)
    costs = (mean_sd(column("parameters"), 0), mean_sd(column("seconds")))
    stopped = [row["stopped_by_itself"] for row in rows if row["growing"]]
    # Where training ended before growth did, the heads are a lower bound.
    ended = f"{sum(flag is True for flag in stopped)} of {len(stopped)}" if stopped else ABSENT
    return (label, mean_sd(column("heads")), accuracy, *costs, whole(len(rows)), ended)


def _needed_note(cells: Cells, sizes: Mapping[int, int]) -> str:
    counts = sweep(max(sizes.values(), default=1))
    wanted = [(heads, seed) for heads in counts for seed in sizes]
    rows = {cell: row for cell in wanted if (row := _scored(cells, *cell))}
    if len(rows) < len(wanted) or len(counts) < 2:
        missing = [f"{static(heads)}-seed{seed}" for heads, seed in wanted if (heads, seed) not in rows]
        why = f"without {shortened(missing)}" if missing else "a single head count"
        return f"Needed: not known, because the static sweep is not complete ({why})."
    accuracies = {heads: [rows[heads, seed]["accuracy"] for seed in sizes] for heads in counts}
    needed, best, error = needed_heads(accuracies, rows[wanted[0]]["test_records"])
    basis = "over seeds" if len(sizes) > 1 else "binomial, one seed"
    return (
        f"Needed: {needed} a layer, the smallest static count within one standard error ({percent(error, 2)} "
        f"points, {basis}) of the best one, {best}."
    )


def _scored(cells: Cells, heads: int, seed: int) -> Row | None:
    row = cells.get(static(heads), {}).get(seed)
    return row if row and row["accuracy"] is not None else None
