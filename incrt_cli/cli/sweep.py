"""`incrt sweep`: one run for every combination of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrt_cli.errors import UserError


def sweep(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A YAML config, such as configs/cov2_synthetic.yaml.")
    ],
    overrides: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUES",
            help="Ranges (seed=0..4) and lists (gate.growth_fraction=0.05,0.1) make the grid; a plain value "
            "holds for every cell.",
        ),
    ],
    run_dir: Annotated[
        Path | None,
        typer.Option("--run-dir", help="The folder of all run folders; default runs/NAME-sweep."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Processes at a time; default: cores by train.threads (1 if not set).",
            show_default=False,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray", metavar="ADDRESS", help="Run on this Ray cluster; `local` starts one on this machine."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cells' folders; train nothing.")
    ] = False,
) -> None:
    """Train every combination of settings; what has finished is not repeated."""
    from incrt_cli.cli.cells import list_cells, train_cells
    from incrt_cli.sweep.plan import plan_sweep

    if ray not in (None, "local") and workers is not None:
        raise UserError("--workers: a cluster decides by itself how many cells run at a time")
    cells = plan_sweep(config, overrides)
    parent = (run_dir or Path("runs") / f"{cells[0].config.name}-sweep").absolute()
    if dry_run:
        list_cells(cells, parent)
    else:
        train_cells(cells, parent, workers, ray)
