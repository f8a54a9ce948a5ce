"""`incrt train --controls`: one run and what it has to be held against, in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from pathlib import Path

import typer

from incrt_cli.cli.failures import summary
from incrt_cli.cli.progress import PlainReporter
from incrt_cli.config.schema import Config
from incrt_cli.controls.execute import grown_heads, run_controls
from incrt_cli.controls.plan import parse_seeds, plan
from incrt_cli.report.controls import controls_tables
from incrt_cli.report.render import summarise_run
from incrt_cli.report.terminal import show_tables
from incrt_cli.rundir import find_runs, read_run
from incrt_cli.training.run import train


def train_controls(config: Config, seeds: str | None, run_dir: Path | None, dry_run: bool) -> None:
    """Train every cell that is not finished yet and show the table; `seeds` as `parse_seeds` reads them.

    Raises UserError, or DivergedError where nothing else went wrong, naming the cells that failed.
    """
    parent = (run_dir or Path("runs") / f"{config.name}-controls").absolute()
    chosen = [config.seed] if seeds is None else parse_seeds(seeds)
    if dry_run:
        _show_plan(config, chosen, parent)
        return

    reporters = chain([PlainReporter()], repeat(_Brief()))

    def train_cell(cell: Config, folder: Path) -> None:
        train(cell, folder, next(reporters), summarise_run)

    failures = run_controls(config, chosen, parent, train_cell, typer.echo)
    show_tables(controls_tables([read_run(path) for path in find_runs(parent)]))
    typer.echo(f"run folders: {parent}")
    if failures:
        raise summary([(str(failure.cell.name), failure.error) for failure in failures])


class _Brief(PlainReporter):
    """Without the account of the data, which is that of the first cell; every run folder holds its own."""

    def say(self, text: str) -> None:
        pass


def _show_plan(config: Config, seeds: Sequence[int], parent: Path) -> None:
    grown = grown_heads(parent, seeds)
    for cell in plan(config, seeds, grown):
        finished = read_run(parent / str(cell.name)).status == "complete"
        typer.echo(f"{parent / str(cell.name)}{'  (finished)' if finished else ''}")
    if waiting := [seed for seed in seeds if seed not in grown]:
        typer.echo(f"static models up to the grown size follow the grown run(s) of seed {waiting}")
