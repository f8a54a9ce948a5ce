"""The law's constant, fitted on the runs of other tasks only (METHOD §5, k_calibrated).

k_calibrated = c · k_law, where ln c is the mean over tasks of a task's mean ln(heads / k_law). Every task
counts once, however many seeds it was run with, and a run never sees a run of its own task.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from incrt_cli.errors import UserError
from incrt_cli.report.foresight import Foresight, foresight, task_means
from incrt_cli.report.rows import Row, permuted_labels, run_row, section
from incrt_cli.report.table import shortened
from incrt_cli.report.tasks import data_source
from incrt_cli.rundir import Run

PREDICTORS = ("k_law", "k_greedy", "k_bound", "k_calibrated")
CONFIDENCE = 0.95


class Constant(NamedTuple):
    """c with the ends of its t interval; they are None with a single task."""

    value: float
    low: float | None
    high: float | None
    tasks: int


class Calibration(NamedTuple):
    """`rows`: one per run, with `task`, the counts of `PREDICTORS`, `c`, `observed`, `ratio` (observed /
    k_calibrated) and `abs_log_ratio`; `constant`: over all tasks, for a task that is none of these;
    `left_out`: run name and reason; `foresight`: the same for what the first part of a run shows.
    """

    rows: list[Row]
    constant: Constant
    left_out: list[tuple[str, str]]
    foresight: list[Foresight]


def calibrate(runs: Sequence[Run]) -> Calibration:
    """Leave one task out at a time. Raises UserError with fewer than two tasks."""
    reasons = [(run, _unfit(run)) for run in runs]
    left_out = [(run.name, reason) for run, reason in reasons if reason]
    kept = [(data_source(run), run) for run, reason in reasons if reason is None]
    fit = [(source, run_row(run)) for source, run in kept]
    means = task_means([(source, math.log(row["heads"] / row["k_law"])) for source, row in fit])
    if len(means) < 2:
        raise UserError(_missing([source.name for source in means], left_out))
    rows = []
    for source, row in fit:
        others = [mean for other, mean in means.items() if other != source]
        rows.append(_predicted(row, source.name, _constant(others)))
    return Calibration(rows, _constant(list(means.values())), left_out, foresight(kept))


def errors(rows: Sequence[Row], predictor: str) -> list[float]:
    """|ln(observed / predicted)| of the runs for which `predictor` says a number of heads."""
    return [abs(math.log(row["observed"] / row[predictor])) for row in rows if row[predictor]]


def by_reason(left_out: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Names of the runs that were left out, by reason."""
    grouped: dict[str, list[str]] = {}
    for name, reason in left_out:
        grouped.setdefault(reason, []).append(name)
    return grouped


def _constant(means: Sequence[float]) -> Constant:
    center = statistics.fmean(means)
    if len(means) < 2:
        return Constant(math.exp(center), None, None, len(means))
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(means) - 1, 0.5 + CONFIDENCE / 2))
    reach = quantile * statistics.stdev(means) / math.sqrt(len(means))
    return Constant(math.exp(center), math.exp(center - reach), math.exp(center + reach), len(means))


def _predicted(row: Row, task: str, constant: Constant) -> Row:
    calibrated = constant.value * row["k_law"]
    ratio = row["heads"] / calibrated
    counts = {name: row[name] for name in ("k_law", "k_greedy", "k_bound")}
    return {
        **{name: row[name] for name in ("name", "seed")}, "task": task, **counts,
        "c": constant.value, "c_low": constant.low, "c_high": constant.high, "fitted_tasks": constant.tasks,
        "k_calibrated": calibrated, "observed": row["heads"], "ratio": ratio,
        "abs_log_ratio": abs(math.log(ratio)), "stopped_by_itself": row["stopped_by_itself"],
    }  # fmt: skip


def _unfit(run: Run) -> str | None:
    """Why a run says nothing about the law's constant; None where it does."""
    if run.status != "complete":
        return f"not a finished run ({'; '.join(run.problems)})"
    row, config = run_row(run), run.config or {}
    gate, train = section(config, "gate"), section(config, "train")
    controls: Mapping[str, bool] = {
        "static model": row["growing"] is not True,
        "permuted labels": permuted_labels(run) is not False,
        "frozen model": train.get("frozen") is True,
        "random directions at birth": gate.get("birth") == "random",
        "layers came, which were not predicted": row["layers"] != row["layers_start"],
        "another gate than the paper's": gate.get("variant", "paper") != "paper",
        "no k_law or no heads recorded": not (row["k_law"] or 0) > 0 or not (row["heads"] or 0) > 0,
    }
    return next((reason for reason, holds in controls.items() if holds), None)


def _missing(tasks: Sequence[str], left_out: Sequence[tuple[str, str]]) -> str:
    found = f"only of one, {tasks[0]}" if tasks else "of none"
    reasons = "; ".join(f"{reason} ({shortened(names)})" for reason, names in by_reason(left_out).items())
    return (
        f"a constant is fitted on other tasks than the one it predicts: finished growing runs of two data "
        f"sources at least are needed, and there are some {found}. Train on another source, or name its run "
        "folders too." + (f" Left out: {reasons}." if left_out else "")
    )
