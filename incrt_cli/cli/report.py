"""`incrt report`: tables over finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrt_cli.cli.out import write_out
from incrt_cli.errors import UserError

if TYPE_CHECKING:
    from incrt_cli.rundir import Run

_ROOT = Path("runs")
_REASONS_NAMED = 3


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders, or folders of them; without any, every run under runs/."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Also write report.md and report.csv into this folder; of a single run, or of the one that "
            "grows among static ones, timeline.svg as well; of runs with train.complexity, complexity.svg.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a list with one object per run.")] = False,
) -> None:
    """Tables of accuracy, heads predicted and grown, cost, and why growth stopped."""
    from incrt_cli.report.render import report_tables
    from incrt_cli.report.rows import rows_to_csv, run_row
    from incrt_cli.report.table import to_markdown
    from incrt_cli.report.terminal import show_tables
    from incrt_cli.rundir.plain import to_json

    read = _read(runs or [])
    rows = [run_row(run) for run in read]
    if json:
        print(to_json(rows))  # also when none is complete: a program gets its list and the exit code
    _require_complete(read)
    tables = report_tables(read)
    if not json:
        show_tables(tables)
    if out is not None:
        from incrt_cli.report.complexity_figure import complexity_svg
        from incrt_cli.report.timeline import timeline_of

        files = {"report.md": to_markdown(tables), "report.csv": rows_to_csv(rows)}
        drawings = {"timeline.svg": timeline_of(read), "complexity.svg": complexity_svg(read)}
        drawn = {name: drawing for name, drawing in drawings.items() if drawing is not None}
        write_out(out, {**files, **drawn})


def _read(given: list[Path]) -> list[Run]:
    from incrt_cli.rundir import expand_runs, find_runs, read_run

    return [read_run(path) for path in expand_runs(given) or find_runs(_ROOT)]


def _require_complete(runs: list[Run]) -> None:
    if any(run.status == "complete" for run in runs):
        return
    if not runs:
        raise UserError(f"no runs under {_ROOT.absolute()}; start one with `incrt train CONFIG`")
    reasons = [f"{run.path}: {'; '.join(run.problems)}" for run in runs[:_REASONS_NAMED]]
    more = f" | and {len(runs) - _REASONS_NAMED} more" if len(runs) > _REASONS_NAMED else ""
    raise UserError(f"no finished run among {len(runs)} folder(s): {' | '.join(reasons)}{more}")
