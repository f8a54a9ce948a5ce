"""Runs that differ in nothing but the seed, and the same with permuted labels (METHOD §5, controls)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from incrt_cli.report.rows import Row, permuted_labels, run_row, run_seed
from incrt_cli.report.table import Table, mean_sd, shortened, whole
from incrt_cli.rundir import Run


@dataclass(frozen=True)
class Group:
    """Rows of one config, one per seed, with the true and with permuted labels."""

    name: str
    true: tuple[Row, ...]
    permuted: tuple[Row, ...]


def group_by_config(runs: Sequence[Run]) -> list[Group]:
    """Runs whose configs agree apart from `name`, `seed` and `data.permute_labels`.

    A seed counts once, by its latest run: repeating a seed repeats the run and would only shrink the
    deviation. Runs without a readable config or seed are in no group.
    """
    grouped: dict[str, list[Run]] = {}
    for run in sorted(runs, key=_started):
        if run.config is not None and run_seed(run) is not None:
            grouped.setdefault(_config_key(run.config), []).append(run)
    return [_group(members) for members in grouped.values()]


def seeds_table(groups: Sequence[Group]) -> Table | None:
    """Mean ± sample standard deviation over seeds, for every config with two seeds or more."""
    conditions = [(g.name, label, rows) for g in groups for label, rows in _labelled(g) if len(rows) > 1]
    if not conditions:
        return None
    columns = (
        "config", "runs", "labels", "seeds", "accuracy %", "macro-F1 %", "heads", "k_law", "heads / k_law",
        "parameters",
    )  # fmt: skip
    lines = tuple(
        (
            name,
            shortened([row["name"] for row in rows]),
            label,
            whole(len(rows)),
            mean_sd(_column(rows, "accuracy"), scale=100),
            mean_sd(_column(rows, "macro_f1"), scale=100),
            mean_sd(_column(rows, "heads")),
            mean_sd(_column(rows, "k_law")),
            mean_sd(_column(rows, "ratio"), 2),
            mean_sd(_column(rows, "parameters"), 0),
        )
        for name, label, rows in conditions
    )
    note = "Mean ± sample standard deviation; every seed counts once, by its latest run."
    return Table("Over seeds", columns, lines, (note,), text_columns=3)


def permuted_table(groups: Sequence[Group]) -> Table | None:
    """True labels beside permuted labels, for every config that was run with both."""
    pairs = [group for group in groups if group.true and group.permuted]
    if not pairs:
        return None
    columns = (
        "config", "seeds, true / permuted", "accuracy % true", "accuracy % permuted", "majority class %",
        "heads true", "heads permuted", "k_law true", "k_law permuted",
    )  # fmt: skip
    lines = tuple(
        (
            pair.name,
            f"{len(pair.true)} / {len(pair.permuted)}",
            mean_sd(_column(pair.true, "accuracy"), scale=100),
            mean_sd(_column(pair.permuted, "accuracy"), scale=100),
            mean_sd(_column(pair.permuted, "majority_accuracy"), scale=100),
            mean_sd(_column(pair.true, "heads")),
            mean_sd(_column(pair.permuted, "heads")),
            mean_sd(_column(pair.true, "k_law")),
            mean_sd(_column(pair.permuted, "k_law")),
        )
        for pair in pairs
    )
    note = "Permuted labels hold nothing to learn: heads grown there answer to the inputs, not to the task."
    return Table("True and permuted labels", columns, lines, (note,))


def _group(runs: Sequence[Run]) -> Group:
    latest = {(permuted_labels(run), run_seed(run)): run_row(run) for run in runs}
    true = tuple(row for (permuted, _), row in latest.items() if not permuted)
    permuted = tuple(row for (permuted, _), row in latest.items() if permuted)
    return Group(str((runs[0].config or {}).get("name")), true, permuted)


def _labelled(group: Group) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    return ("true", group.true), ("permuted", group.permuted)


def _column(rows: Sequence[Row], key: str) -> list[float | None]:
    return [row[key] for row in rows]


def _config_key(config: dict[str, Any]) -> str:
    kept = {key: value for key, value in config.items() if key not in ("name", "seed")}
    if isinstance(kept.get("data"), dict):
        kept["data"] = {key: value for key, value in kept["data"].items() if key != "permute_labels"}
    return json.dumps(kept, sort_keys=True, default=str)


def _started(run: Run) -> str:
    return str((run.environment or {}).get("started_at", ""))
