"""`incrt diagnose`: do the gate's planes earn what their eigenvalues promise? Three criteria side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrt_cli.cli.out import require_out, write_out

if TYPE_CHECKING:
    pass


def diagnose(
    source: Annotated[
        Path, typer.Argument(metavar="RUN|CONFIG", help="A finished run's folder, or a config: untrained.")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE", help="Settings over the config's; of a run data.*, train.*, seed."
        ),
    ] = None,
    planes: Annotated[
        int,
        typer.Option("--planes", min=3, help="Eigenplanes, and as many random ones; fewer if few are left."),
    ] = 8,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Of each newborn head alone.")] = 20,
    draws: Annotated[
        int, typer.Option("--draws", min=1, help="Of a newborn's random weights, the same for all planes.")
    ] = 4,
    layer: Annotated[int, typer.Option("--layer", min=0, help="Counted from 0.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write diagnosis.md and diagnosis.csv into this folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Geometric, NTK and practical scores of eigenplanes and of random planes, and how they agree."""
    from incrt_cli.diagnosis.diagnose import Request, diagnose
    from incrt_cli.diagnosis.subject import of_config, of_run
    from incrt_cli.report.diagnosis import diagnosis_tables
    from incrt_cli.report.terminal import show_tables
    from incrt_cli.rundir.plain import to_json

    require_out(out)
    read = of_run if source.is_dir() else of_config
    figures = diagnose(read(source, overrides or [], _say), Request(layer, planes, steps, draws), _say)
    tables = diagnosis_tables(figures)
    if json:
        print(to_json(figures))
    else:
        show_tables(tables)
    if out is not None:
        from incrt_cli.report.rows import rows_to_csv
        from incrt_cli.report.table import to_markdown

        files = {"diagnosis.md": to_markdown(tables), "diagnosis.csv": rows_to_csv(figures["planes"])}
        write_out(out, files)


def _say(line: str) -> None:
    typer.echo(line, err=True)
