"""Cells of a sweep: listed, or trained by an engine and shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from incrt_cli.cli.failures import summary
from incrt_cli.config.schema import Config
from incrt_cli.controls.folders import is_finished
from incrt_cli.data.workers import available_cores
from incrt_cli.report.render import summarise_run
from incrt_cli.report.sweep import sweep_tables
from incrt_cli.report.terminal import show_tables
from incrt_cli.rundir import find_runs, read_run
from incrt_cli.sweep.engine import Engine
from incrt_cli.sweep.execute import run_sweep
from incrt_cli.sweep.local import LocalEngine
from incrt_cli.sweep.plan import Cell
from incrt_cli.sweep.ray_engine import RayEngine
from incrt_cli.training.progress import Status
from incrt_cli.training.resume import resume
from incrt_cli.training.run import train


def list_cells(cells: Sequence[Cell], parent: Path) -> None:
    """One folder a line, with what is finished."""
    for cell in cells:
        folder = parent / cell.name
        typer.echo(f"{folder}{'  (finished)' if is_finished(cell.config, folder) else ''}")


def train_cells(cells: Sequence[Cell], parent: Path, workers: int | None, ray: str | None) -> None:
    """Train what has not finished and show the table. Raises the `summary` of the cells that failed."""
    failures = run_sweep(cells, parent, _engine(cells, workers, ray), train_cell, typer.echo)
    show_tables(sweep_tables([read_run(path) for path in find_runs(parent)]))
    typer.echo(f"run folders: {parent}")
    if failures:
        raise summary([(failure.name, failure.error) for failure in failures])


def train_cell(config: Config, folder: Path, going_on: bool) -> None:
    """Train one cell in this process, or go on with it; other processes find this function by its name."""
    reporter = _Quiet(folder.name)
    if going_on:
        resume(folder, (), reporter, summarise_run, signals=True)
    else:
        train(config, folder, reporter, summarise_run, signals=True)


class _Quiet:
    """Warnings alone: several cells speak at a time, and every run folder holds its own account."""

    def __init__(self, name: str) -> None:
        self._name = name

    def say(self, text: str) -> None:
        if text.startswith("warning"):
            typer.echo(f"{self._name}: {text}", err=True)

    def step(self, status: Status) -> None:
        pass

    def evaluated(self, status: Status) -> None:
        pass


def _engine(cells: Sequence[Cell], workers: int | None, ray: str | None) -> Engine:
    """As many cells at a time as have cores; with --workers the cores are shared out among them."""
    asked = max((cell.config.train.threads or 0 for cell in cells), default=0)
    cores = available_cores()
    count = workers or max(1, cores // (asked or 1))
    threads = asked or max(1, cores // count)
    return LocalEngine(count, threads) if ray is None else RayEngine(ray, threads, count)
