"""How early a run's head count can be told: k_greedy of METHOD §5, on the operator of a later step [ours].

k_pilot(s) = heads + planes that greedy deflation needs, at the last exact look within the first share s of a
run's steps. What it lacks is the drift still to come: c(s) is the geometric mean of heads at the end /
k_pilot(s) over the other tasks, as c of the law is in `calibration`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from incrt_cli.report.rows import number, run_row
from incrt_cli.report.table import Table, decimal, percent, whole
from incrt_cli.rundir import Run

SHARES = (0.0, 0.1, 0.2, 0.3, 0.5)  # 0: before the first step


@dataclass(frozen=True)
class Foresight:
    """Over `runs` runs at `share`: |ln(observed / predicted)| of k_pilot and of c · k_pilot out of sample."""

    share: float
    constants: tuple[float, ...]  # c for each task, fitted on the others
    raw: tuple[float, ...]
    calibrated: tuple[float, ...]


def foresight(runs: Sequence[tuple[Hashable, Run]]) -> list[Foresight]:
    """One entry a share; `runs` with the task of each, which is left out when c is fitted for it."""
    found = []
    for share in SHARES:
        counted = [(task, run_row(run)["heads"], projected_heads(run, share)) for task, run in runs]
        logs = [(task, math.log(heads / pilot)) for task, heads, pilot in counted if pilot]
        constants = fit_on_others(logs)
        if len(constants) > 1:
            errors = tuple(abs(log - constants[task]) for task, log in logs)
            values = tuple(math.exp(constant) for constant in constants.values())
            found.append(Foresight(share, values, tuple(abs(log) for _, log in logs), errors))
    return found


def fit_on_others(logs: Sequence[tuple[Hashable, float]]) -> Mapping[Hashable, float]:
    """ln c for each task: the mean over the other tasks of a task's mean; every task counts once."""
    tasks: dict[Hashable, list[float]] = {}
    for task, log in logs:
        tasks.setdefault(task, []).append(log)
    means = {task: statistics.fmean(values) for task, values in tasks.items()}
    if len(means) < 2:
        return {}
    return {task: statistics.fmean([m for other, m in means.items() if other != task]) for task in means}


def projected_heads(run: Run, share: float) -> int | None:
    """k_pilot at `share` of the run's steps, over all layers; None without a look at every layer by then."""
    if share == 0.0:
        return number(run.prediction or {}, "k_greedy")  # type: ignore[no-any-return]
    steps = number(run.result or {}, "total_steps") or 0
    latest: dict[int, int | None] = {}
    for row in run.metrics or ():
        if row.get("kind") == "check" and number(row, "step") is not None and row["step"] <= share * steps:
            layer = number(row, "layer") or 0
            latest[layer] = number(row, "projected") or latest.get(layer)
    counts = [count for count in latest.values() if count is not None]
    return sum(counts) if counts and len(counts) == len(latest) else None


def foresight_table(entries: Sequence[Foresight]) -> Table:
    """Error against the share of the run that was seen."""
    columns = (
        "share of the steps seen %", "c", "median |ln ratio|", "worst", "median, uncalibrated", "worst",
        "runs",
    )  # fmt: skip
    lines = tuple(
        (
            percent(entry.share, 0),
            f"{decimal(min(entry.constants), 2)} to {decimal(max(entry.constants), 2)}",
            decimal(statistics.median(entry.calibrated), 2),
            decimal(max(entry.calibrated), 2),
            decimal(statistics.median(entry.raw), 2),
            decimal(max(entry.raw), 2),
            whole(len(entry.raw)),
        )
        for entry in entries
    )
    notes = (
        "Predicted: c · k_pilot; k_pilot: the heads of that moment and the planes that a frozen operator "
        "would still grow; c: heads at the end / k_pilot over the other tasks. At 0 % it is k_greedy.",
    )
    return Table("How early the count can be told, out of sample", columns, lines, notes)
