"""One flat row of plain values per run: what `incrt report --json` and `report.csv` hold."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from incrt_cli.rundir import Run

Row = dict[str, Any]


def run_row(run: Run) -> Row:
    """The figures of one run; a figure that the folder does not hold is None, never zero.

    Fractions lie in 0–1. `ratio` is heads / `k_law` (METHOD §5), `accuracy_se` the binomial standard
    error of `accuracy` over `test_records`. `k_law` and its like count the heads of the layers at the
    start, so there is no `ratio` where layers came.
    """
    result, prediction = run.result or {}, run.prediction or {}
    accuracy, records = number(result, "accuracy"), number(result, "test_records")
    heads, k_law = number(result, "heads"), number(prediction, "k_law")
    layers, layers_start = number(result, "layers"), number(result, "layers_start")
    return {
        "name": run.name,
        "status": run.status,
        "accuracy": accuracy,
        "macro_f1": number(result, "macro_f1"),
        "heads": heads,
        "k_law": k_law,
        "k_greedy": number(prediction, "k_greedy"),
        "k_bound": number(prediction, "k_bound"),
        "ratio": quotient(heads, k_law) if layers == layers_start else None,
        "parameters": number(result, "parameters"),
        "steps": number(result, "steps"),
        "seconds": number(result, "seconds"),
        "sufficient": flag(result, "sufficient"),
        "minimal": flag(result, "minimal"),
        "test_records": records,
        "accuracy_se": binomial_error(accuracy, records),
        "majority_accuracy": number(result, "majority_accuracy"),
        "unseen_accuracy": number(section(result, "unseen"), "accuracy"),
        "unseen_records": number(section(result, "unseen"), "records"),
        "baseline_accuracy": number(section(result, "baseline"), "accuracy"),
        "parameters_start": number(result, "parameters_start"),
        "padding": number(result, "padding"),
        "births": number(result, "births"),
        "captures": number(result, "captures"),
        "prunes": number(result, "prunes"),
        "growing": flag(result, "growing"),
        "stopped_by_itself": flag(result, "stopped_by_itself"),
        "last_event_step": number(result, "last_event_step"),
        "prediction_before_first_step": _predicted_first(prediction, result),
        "permuted_labels": permuted_labels(run),
        "seed": run_seed(run),
        "path": str(run.path),
        "problems": list(run.problems),
        "layers": layers,
        "layers_start": layers_start,
        "heads_per_layer": numbers(result, "heads_per_layer"),
    }


def _predicted_first(prediction: Mapping[str, Any], result: Mapping[str, Any]) -> bool | None:
    written, first_step = _time(prediction.get("written_at")), _time(result.get("first_step_at"))
    return written < first_step if written and first_step else None


def _time(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None  # a time without a zone cannot be compared


def rows_to_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV under one header; an unknown value is an empty field."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _csv_cell(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def number(values: Mapping[str, Any], key: str) -> Any:
    """`values[key]` if it is a finite number, else None: a folder may hold anything."""
    return finite(values.get(key))


def finite(value: Any) -> Any:
    """`value` if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compared, because `math.isfinite` fails on an integer beyond the range of a float.
    return value if abs(value) <= sys.float_info.max else None


def flag(values: Mapping[str, Any], key: str) -> bool | None:
    value = values.get(key)
    return value if isinstance(value, bool) else None


def section(values: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    """The mapping below `key`, empty where there is none."""
    value = (values or {}).get(key)
    return value if isinstance(value, dict) else {}


def entries(values: Mapping[str, Any] | None, key: str) -> list[dict[str, Any]]:
    """The mappings in the list below `key`."""
    value = (values or {}).get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def numbers(values: Mapping[str, Any] | None, key: str) -> list[Any]:
    """The finite numbers in the list below `key`."""
    value = (values or {}).get(key)
    return [item for item in value if finite(item) is not None] if isinstance(value, list) else []


def quotient(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def binomial_error(share: float | None, count: float | None) -> float | None:
    """Standard error √(p(1−p)/n) of a share p of n independent records."""
    if share is None or not count or not 0 <= share <= 1:
        return None
    return math.sqrt(share * (1 - share) / count)


def permuted_labels(run: Run) -> bool | None:
    recorded = flag(run.result or {}, "permuted_labels")
    return flag(section(run.config, "data"), "permute_labels") if recorded is None else recorded


def run_seed(run: Run) -> int | None:
    recorded: int | None = number(run.result or {}, "seed")
    return number(run.config or {}, "seed") if recorded is None else recorded


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "; ".join(map(str, value)) if isinstance(value, list) else value
