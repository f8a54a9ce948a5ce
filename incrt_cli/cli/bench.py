"""`incrt bench`: what growing costs, as ratios measured side by side in one process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrt_cli.cli.out import require_out, write_out

if TYPE_CHECKING:
    from incrt_cli.report.table import Table


def bench(
    source: Annotated[
        str | None, typer.Argument(metavar="CONFIG", help="A config; without: synthetic genomes.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings over the config's.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", help="Of step,layer,events,run,input,inference,memory,curves."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions and small shapes: does it work at all?")
    ] = False,
    cpu_time: Annotated[
        bool,
        typer.Option("--cpu-time", help="CPU seconds of this process: for a machine that others use too."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Also write bench.json, .md, .csv and curves.svg into this folder."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Ratios of what growing costs: steps, layers, births, whole runs; input, memory and cost curves."""
    from incrt_cli.bench.suite import bench, bench_config, chosen, context_for
    from incrt_cli.report.bench import bench_tables
    from incrt_cli.report.terminal import show_tables
    from incrt_cli.rundir.plain import to_json, to_plain

    require_out(out)
    parts = chosen(only)
    path, settings = _sources(source, overrides or [])
    context = context_for(bench_config(path, settings, quick), path is not None, quick, cpu_time)
    figures = to_plain(bench(context, parts, _say))
    tables = bench_tables(figures)
    if json:
        print(to_json(figures))
    else:
        show_tables(tables)
    if out is not None:
        write_out(out, _files(figures, tables))


def _sources(source: str | None, overrides: list[str]) -> tuple[Path | None, list[str]]:
    # Without a config the first setting stands in its place.
    if source is not None and "=" in source and not Path(source).is_file():
        return None, [source, *overrides]
    return None if source is None else Path(source), overrides


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _files(figures: dict[str, Any], tables: list[Table]) -> dict[str, str]:
    from incrt_cli.report.bench import measurement_rows
    from incrt_cli.report.bench_curves import curves_svg
    from incrt_cli.report.rows import rows_to_csv
    from incrt_cli.report.table import to_markdown
    from incrt_cli.rundir.plain import to_json

    files = {
        "bench.json": to_json(figures) + "\n",
        "bench.md": to_markdown(tables),
        "bench.csv": rows_to_csv(measurement_rows(figures)),
    }
    return {**files, "curves.svg": curves_svg(figures)} if figures["curves"] else files
