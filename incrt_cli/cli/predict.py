"""`incrt predict-heads`: how many heads, beforehand; and predicted against observed over runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrt_cli.errors import UserError

if TYPE_CHECKING:
    from incrt_cli.report.table import Table

_ROOT = Path("runs")


def predict_heads(
    source: Annotated[
        Path | None,
        typer.Argument(metavar="CONFIG|RUN", help="A config or a run folder; without: every run."),
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings over the config's.")
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Fit the law's constant on finished runs of other tasks: RUN RUN …, or every run.",
        ),
    ] = False,
    pilot_steps: Annotated[
        int | None,
        typer.Option("--pilot-steps", min=1, help="Train that many steps first, and predict from there too."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, with the whole spectrum.")
    ] = False,
) -> None:
    """Predict head counts before training, with the spectrum the prediction rests on."""
    from incrt_cli.report.terminal import show_tables
    from incrt_cli.rundir.plain import to_json

    if pilot_steps is not None and (calibrate or source is None or source.is_dir()):
        raise UserError("--pilot-steps goes with a config")
    if calibrate:
        value, tables = _calibrated([] if source is None else [source, *map(Path, overrides or [])])
    elif source is None:
        value, tables = _all_runs()
    else:
        value, tables = _one(source, overrides or [], pilot_steps, quiet=json)
    if json:
        print(to_json(value))
    else:
        show_tables(tables)


def _all_runs() -> tuple[Any, list[Table]]:
    from incrt_cli.report.heads import head_rows, observed_table
    from incrt_cli.rundir import find_runs, read_run

    runs = [read_run(path) for path in find_runs(_ROOT)]
    if not head_rows(runs):
        raise UserError(
            f"no runs under {_ROOT.absolute()}; name a config, or start a run with `incrt train CONFIG`"
        )
    return head_rows(runs), [observed_table(runs)]


def _calibrated(folders: list[Path]) -> tuple[Any, list[Table]]:
    from incrt_cli.report.calibration import calibrate
    from incrt_cli.report.calibration_tables import calibration_tables
    from incrt_cli.rundir import expand_runs, find_runs, read_run

    calibration = calibrate([read_run(path) for path in expand_runs(folders) or find_runs(_ROOT)])
    return calibration._asdict(), calibration_tables(calibration)


def _one(source: Path, overrides: list[str], pilot_steps: int | None, quiet: bool) -> tuple[Any, list[Table]]:
    from incrt_cli.report.heads import pilot_table, prediction_tables

    if source.is_dir():
        prediction = _of_run(source, overrides)
    elif pilot_steps is None:
        prediction = _of_config(source, overrides, quiet)
    else:
        prediction = _of_pilot(source, overrides, pilot_steps, quiet)
        return prediction, [*prediction_tables(prediction), pilot_table(prediction["pilot"])]
    return prediction, prediction_tables(prediction)


def _of_run(folder: Path, overrides: list[str]) -> dict[str, Any]:
    from incrt_cli.rundir import read_run

    if overrides:
        raise UserError(
            f"{folder.absolute()} is a finished run and read alone: KEY=VALUE goes with a config, several "
            "runs with --calibrate"
        )
    run = read_run(folder)
    if run.prediction is None:
        raise UserError(
            f"{folder.absolute()} holds no prediction.json: not a run folder, or one that never started"
        )
    return run.prediction


def _of_config(path: Path, overrides: list[str], quiet: bool) -> dict[str, Any]:
    from incrt_cli.config.load import load_config
    from incrt_cli.training.prepare import prediction_json, prepare

    config = load_config(path, overrides)
    prepared = prepare(config, (lambda _: None) if quiet else print, trains=False)
    return prediction_json(prepared.predictions)


def _of_pilot(path: Path, overrides: list[str], steps: int, quiet: bool) -> dict[str, Any]:
    from incrt_cli.config.load import load_config
    from incrt_cli.report.foresight import k_pilot
    from incrt_cli.training.foretaste import train_a_little

    pilot = train_a_little(load_config(path, overrides), steps, (lambda _: None) if quiet else print)
    figures = {key: getattr(pilot, key) for key in ("steps", "total_steps", "heads", "seconds")}
    count = k_pilot(pilot.prediction, pilot.looks, pilot.steps)
    return {**pilot.prediction, "pilot": {**figures, "k_pilot": count}}
