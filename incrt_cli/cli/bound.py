"""`incrt bound`: spectrum-adaptive and norm-based complexity of a trained model, or of a grid of shapes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrt_cli.cli.out import require_out, write_out
from incrt_cli.errors import UserError

if TYPE_CHECKING:
    from incrt_cli.report.table import Table


def bound(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|CHECKPOINT|L=..|H=..",
            help="A run folder or a Hugging Face BERT folder; with --grid, L=2,4,8 H=128,256 and any "
            "number of folders beside it.",
        ),
    ],
    grid: Annotated[
        bool, typer.Option("--grid", help="Randomly initialised BERT shapes, and how the factors grow.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Of the grid's weights.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="With --grid: write grid.csv and grid.svg into this folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Leading complexity factors of a model: B_adaptive, which follows the spectra, and B_norm.

    They compare models and are no numeric risk bounds.
    """
    from incrt_cli.report.terminal import show_tables
    from incrt_cli.rundir.plain import to_json

    figures, tables = _grid(source, seed, out) if grid else _model(source, out)
    if json:
        print(to_json(figures))
    else:
        show_tables(tables)


def _model(source: list[str], out: Path | None) -> tuple[dict[str, Any], list[Table]]:
    from incrt_cli.complexity.figures import model_figures
    from incrt_cli.complexity.source import read_weights
    from incrt_cli.complexity.weights import measure
    from incrt_cli.report.complexity import model_tables

    if len(source) > 1:
        raise UserError(f"one folder at a time, not {len(source)}; L=.. and H=.. go with --grid")
    if out is not None:
        raise UserError("--out goes with --grid; a model's figures are printed, as JSON with --json")
    figures = model_figures(measure(read_weights(Path(source[0]))))
    return figures, model_tables(figures)


def _grid(source: list[str], seed: int, out: Path | None) -> tuple[dict[str, Any], list[Table]]:
    from incrt_cli.complexity.grid import grid_figures, measure_grid, parse_grid, trained_point
    from incrt_cli.complexity.source import read_weights
    from incrt_cli.complexity.weights import measure
    from incrt_cli.report.complexity import grid_tables

    require_out(out)
    # The folders of a sweep are named after their settings, so an equals sign alone makes no axis.
    folders = [given for given in source if "=" not in given or Path(given).is_dir()]
    depths, widths = parse_grid([given for given in source if given not in folders])
    trained = [
        trained_point(path.absolute().name, measure(read_weights(path))) for path in map(Path, folders)
    ]
    figures = grid_figures([*measure_grid(depths, widths, seed), *trained], seed)
    if out is not None:
        from incrt_cli.report.figure import grid_svg
        from incrt_cli.report.rows import rows_to_csv

        write_out(out, {"grid.csv": rows_to_csv(figures["points"]), "grid.svg": grid_svg(figures)})
    return figures, grid_tables(figures)
