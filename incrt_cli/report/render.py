"""The whole report: which tables a set of runs gets, as Markdown and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrt_cli.report.complexity import growth_table
from incrt_cli.report.conditioning import conditioning_table
from incrt_cli.report.controls import controls_tables
from incrt_cli.report.depth import depth_table
from incrt_cli.report.published import published_table
from incrt_cli.report.results import cost_table, heads_table, results_table, stop_table
from incrt_cli.report.rows import rows_to_csv, run_row
from incrt_cli.report.seeds import group_by_config, permuted_table, seeds_table
from incrt_cli.report.shift import shift_tables
from incrt_cli.report.single import certificate_table, classes_table, functional_table
from incrt_cli.report.sweep import sweep_tables
from incrt_cli.report.table import Table, to_markdown
from incrt_cli.rundir import Run, read_run


def report_tables(runs: Sequence[Run]) -> list[Table]:
    """The tables of `runs`; incomplete and foreign folders get a line with the reason, last."""
    return [*sweep_tables(runs), *_tables(runs)]


def _tables(runs: Sequence[Run]) -> list[Table]:
    complete = [run for run in runs if run.status == "complete"]
    tables: list[Table | None] = []
    if complete:
        tables += controls_tables(complete)
        tables += [table(complete) for table in (results_table, heads_table, stop_table, depth_table)]
        tables.append(cost_table(complete))
        if len(complete) == 1:
            tables += shift_tables(complete[0])
            single = (
                growth_table, conditioning_table, certificate_table, functional_table, classes_table,
            )  # fmt: skip
            tables += [table(complete[0]) for table in single]
        groups = group_by_config(complete)
        tables += [seeds_table(groups), permuted_table(groups), published_table(complete)]
    tables.append(_left_out_table([run for run in runs if run.status != "complete"]))
    return [table for table in tables if table is not None]


def summarise_run(path: Path, result: Mapping[str, Any] | None = None) -> tuple[str, str]:
    """`(markdown, csv)` of one run, for its own folder.

    `result` is what the run is about to write as its last file, so that the tables can come before it.
    """
    run = read_run(path, pending_result=result)
    return to_markdown(_tables([run])), rows_to_csv([run_row(run)])


def _left_out_table(runs: Sequence[Run]) -> Table | None:
    if not runs:
        return None
    lines = tuple((run.name, run.status, "; ".join(run.problems)) for run in runs)
    return Table("Folders left out", ("folder", "status", "reason"), lines, text_columns=3)
