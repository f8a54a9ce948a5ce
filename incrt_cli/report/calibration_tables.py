"""The tables of `incrt predict-heads --calibrate`."""

from __future__ import annotations

import math
import statistics

from incrt_cli.report.calibration import CONFIDENCE, PREDICTORS, Calibration, Constant, by_reason, errors
from incrt_cli.report.foresight import foresight_table
from incrt_cli.report.results import COUNT_NOTES
from incrt_cli.report.rows import Row
from incrt_cli.report.table import Table, decimal, shortened, whole, yes_no

_COLUMNS = (
    "run", "task", "seed", "k_law", "k_greedy", "k_bound", "c", "k_calibrated", "observed", "ratio",
    "|ln ratio|", "stopped by itself",
)  # fmt: skip


def calibration_tables(calibration: Calibration) -> list[Table]:
    """Every run with its out-of-sample count, how far each prediction is off, and what was left out."""
    rows, constant, left_out, early = calibration
    notes = [
        "c: geometric mean of heads / k_law over the other tasks, each task once; a task is a source of "
        "data, and generated data of another number of classes or look-ups count as another one. "
        "k_calibrated = c · k_law; ratio = observed / k_calibrated.",
        f"Over all {constant.tasks} tasks, for one that is none of them: {_interval(constant)}.",
        COUNT_NOTES[0],
    ]
    if unstopped := sum(row["stopped_by_itself"] is False for row in rows):
        notes.append(
            f"{unstopped} run(s) ended before growth had stopped: their heads are a lower bound and pull the "
            "c of other tasks down. Train them for longer, or leave them out."
        )
    tables = [
        Table("Calibrated on other tasks", _COLUMNS, tuple(map(_line, rows)), tuple(notes), text_columns=2)
    ]
    tables.append(_error_table(rows))
    if early:
        tables.append(foresight_table(early))
    if left_out:
        grouped = by_reason(left_out).items()
        lines = tuple((reason, shortened(names), whole(len(names))) for reason, names in grouped)
        tables.append(Table("Runs left out", ("reason", "runs", "number"), lines, text_columns=2))
    return tables


def _line(row: Row) -> tuple[str, ...]:
    return (
        row["name"],
        row["task"],
        whole(row["seed"]),
        decimal(row["k_law"]),
        whole(row["k_greedy"]),
        whole(row["k_bound"]),
        decimal(row["c"], 2),
        decimal(row["k_calibrated"]),
        whole(row["observed"]),
        decimal(row["ratio"], 2),
        decimal(row["abs_log_ratio"], 2),
        yes_no(row["stopped_by_itself"]),
    )


def _interval(constant: Constant) -> str:
    ends = f"{decimal(constant.low, 2)} to {decimal(constant.high, 2)}"
    return (
        f"c = {decimal(constant.value, 2)}, {ends} ({100 * CONFIDENCE:.0f} % t interval of the mean log "
        f"ratio over tasks, {constant.tasks - 1} degree(s) of freedom)"
    )


def _error_table(rows: list[Row]) -> Table:
    lines = []
    for predictor in PREDICTORS:
        found = errors(rows, predictor)
        median, worst = (statistics.median(found), max(found)) if found else (None, None)
        factor = None if worst is None else math.exp(worst)
        lines.append(
            (predictor, decimal(median, 2), decimal(worst, 2), decimal(factor, 2), whole(len(found)))
        )
    columns = ("prediction", "median |ln ratio|", "worst |ln ratio|", "worst factor", "runs")
    return Table("How far the predictions are off", columns, tuple(lines))
