"""`incrt train`: one run, from config to run folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrt_cli.errors import UserError

if TYPE_CHECKING:
    from incrt_cli.config.schema import Config
    from incrt_cli.training.progress import Reporter
    from incrt_cli.training.ranks import Ranks

Together = Mapping[str, "Ranks"]  # `ranks`, where there are several processes


def train(
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG",
            help="A YAML config, such as configs/cov2_synthetic.yaml; left out with --resume.",
            show_default=False,
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Settings over the file's, such as seed=1."),
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "--run-dir",
            help="The run folder; default runs/NAME, numbered if taken. With --controls the folder of all "
            "of them; default runs/NAME-controls.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show config, data account, prediction and sizes; train nothing, write no run folder.",
        ),
    ] = False,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls",
            help="Also train what its head count has to be held against; what has finished is not repeated.",
        ),
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="0..4", help="With --controls: seeds, in place of the config's."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="RUN",
            help="Go on with the run of this folder; takes settings that do not change its result.",
        ),
    ] = None,
) -> None:
    """Train a model that grows its own heads, and write a run folder with tables.

    Several processes train one model together: torchrun --nproc-per-node 2 -m incrt_cli train CONFIG
    """
    begin = partial(_begin, config, overrides or [], run_dir, dry_run, controls, seeds, resume)
    # torch takes seconds to import, which the first mistake in a config need not wait for.
    if os.environ.get("WORLD_SIZE", "1") == "1":
        begin({})
        return
    from incrt_cli.training.follow import follow
    from incrt_cli.training.joining import joined

    with joined() as ranks:
        if ranks.first:
            begin({"ranks": ranks})
        else:
            follow(ranks, signals=True)


def _begin(
    config: str | None,
    overrides: list[str],
    run_dir: Path | None,
    dry_run: bool,
    controls: bool,
    seeds: str | None,
    resume: Path | None,
    together: Together,
) -> None:
    from incrt_cli.config.load import load_config

    if together and (controls or dry_run):
        raise UserError("--controls and --dry-run go with one process: start them without torchrun")
    if resume is not None:
        if controls or seeds is not None or dry_run or run_dir is not None:
            raise UserError("--resume goes with KEY=VALUE alone; the rest is that of the run")
        # What stands first is no config here.
        _resume(resume, [*([] if config is None else [config]), *overrides], together)
        return
    if config is None:
        raise UserError("Missing argument 'CONFIG'; or give --resume RUN")
    resolved = load_config(Path(config), overrides)
    if controls:
        from incrt_cli.cli.controls import train_controls

        train_controls(resolved, seeds, run_dir, dry_run)
    elif seeds is not None:
        raise UserError("--seeds goes with --controls; for one run give seed=N")
    elif dry_run:
        _dry_run(resolved)
    else:
        _train(resolved, run_dir, together)


def _train(config: Config, run_dir: Path | None, together: Together) -> None:
    from incrt_cli.report.render import summarise_run
    from incrt_cli.training.run import train

    _show(lambda reporter: train(config, run_dir, reporter, summarise_run, signals=True, **together))


def _resume(folder: Path, overrides: list[str], together: Together) -> None:
    from incrt_cli.report.render import summarise_run
    from incrt_cli.training.resume import resume

    _show(lambda reporter: resume(folder, overrides, reporter, summarise_run, signals=True, **together))


def _show(trains: Callable[[Reporter], Path]) -> None:
    import sys

    from rich.console import Console

    from incrt_cli.cli.progress import LiveReporter, PlainReporter
    from incrt_cli.report.render import report_tables
    from incrt_cli.report.terminal import show_tables
    from incrt_cli.rundir import read_run

    if sys.stdout.isatty():
        with LiveReporter(Console()) as reporter:
            run = trains(reporter)
    else:
        run = trains(PlainReporter())
    show_tables(report_tables([read_run(run)]))
    print(f"run folder: {run}")


def _dry_run(config: Config) -> None:
    from incrt_cli.config.load import dump_config
    from incrt_cli.report.heads import prediction_tables
    from incrt_cli.report.terminal import show_tables
    from incrt_cli.training.budget import estimates, memory_line, too_large
    from incrt_cli.training.prepare import prediction_json, prepare

    print(dump_config(config))
    prepared = prepare(config, print, trains=False)
    show_tables(prediction_tables(prediction_json(prepared.predictions)))
    print(f"\npadding: {prepared.padding:.1%} of the positions of training batches")
    heads = sum(prepared.model.head_counts)
    print(f"parameters at the start, heads in all {heads}: {prepared.parameters_at(heads):,}")
    if prepared.predictions:
        bound = sum(prediction.k_bound for prediction in prepared.predictions)
        print(f"parameters at k_bound = {bound} heads: {prepared.parameters_at(bound):,}")
    memory = estimates(prepared)
    for estimate in memory.values():
        print(memory_line(estimate))
    if warning := too_large(prepared, memory):
        print(warning)
