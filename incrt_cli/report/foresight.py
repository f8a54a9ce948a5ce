"""How early a run's head count can be told [ours].

    k_pilot(t) = k_greedy⁽⁰⁾ + (k_greedy⁽ᵗ⁾ − k_greedy⁽⁰⁾)/√ρ(t)

k_greedy⁽ᵗ⁾ is METHOD §5's count on the operator of step t: the heads there are and the planes left to get.
What moves it is training, and how far training has come is the share ρ(t) of the run's learning rate that is
spent: known beforehand for every t, and of no scale. The root is that of steps which wander: they get as far
as the square root of their number. Beside it c(t) · k_pilot(t), c the geometric mean of heads at the end /
k_pilot over the other tasks, as c of the law is in `calibration`; without it nothing is fitted.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from incrt_cli.report.rows import entries, number, run_row
from incrt_cli.report.table import Table, decimal, percent, whole
from incrt_cli.rundir import Run

Task = TypeVar("Task", bound=Hashable)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # 0: before the first step


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
        logs = [(task, math.log(heads / pilot)) for task, heads, pilot in counted if pilot and pilot > 0.0]
        constants = fit_on_others(logs)
        if len(constants) > 1:
            errors = tuple(abs(log - constants[task]) for task, log in logs)
            values = tuple(math.exp(constant) for constant in constants.values())
            found.append(Foresight(share, values, tuple(abs(log) for _, log in logs), errors))
    return found


def fit_on_others(logs: Sequence[tuple[Hashable, float]]) -> Mapping[Hashable, float]:
    """ln c for each task: the mean over the other tasks of a task's mean; every task counts once."""
    means = task_means(logs)
    if len(means) < 2:
        return {}
    return {task: statistics.fmean([m for other, m in means.items() if other != task]) for task in means}


def task_means(logs: Sequence[tuple[Task, float]]) -> dict[Task, float]:
    """The mean of each task, however many runs it has."""
    tasks: dict[Task, list[float]] = {}
    for task, log in logs:
        tasks.setdefault(task, []).append(log)
    return {task: statistics.fmean(values) for task, values in tasks.items()}


def projected_heads(run: Run, share: float) -> float | None:
    """k_pilot at `share` of the run's steps, over all layers; None without a look at every layer by then."""
    steps = number(run.result or {}, "total_steps") or 0
    return k_pilot(run.prediction or {}, run.metrics or (), share * steps)


def k_pilot(
    prediction: Mapping[str, Any], metrics: Iterable[Mapping[str, Any]], until: float
) -> float | None:
    """k_pilot from the last exact look at every layer up to step `until`; k_greedy itself at step 0.

    `prediction` and `metrics` are laid out as in a run folder.
    """
    first = {number(layer, "layer"): number(layer, "k_greedy") for layer in entries(prediction, "layers")}
    counts = dict(first) if until == 0 else dict.fromkeys(first)
    for row in metrics:
        layer, now, spent = (number(row, key) for key in ("layer", "projected", "rate_spent"))
        if row.get("kind") == "check" and now and spent and (number(row, "step") or 0) <= until:
            start = first.get(layer)
            counts[layer] = None if start is None else start + (now - start) / math.sqrt(spent)
    known = [count for count in counts.values() if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


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
        "Uncalibrated: k_pilot, which carries on to the end what k_greedy has moved by until then, with the "
        "root of the learning rate spent; nothing is fitted. Otherwise c · k_pilot, c: heads at the end / "
        "k_pilot over the other tasks. At 0 % it is k_greedy.",
    )
    return Table("How early the count can be told, out of sample", columns, lines, notes)
