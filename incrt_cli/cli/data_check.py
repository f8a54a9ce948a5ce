"""`incrt data check`: what would go wrong with a config's data, before a run does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrt_cli.errors import UserError

if TYPE_CHECKING:
    from incrt_cli.config.schema import Config
    from incrt_cli.data.task import Task
    from incrt_cli.training.pilot import CostEstimate


def check(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A YAML config, such as configs/cov2_gisaid.yaml.")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Settings over the file's, such as data.region=S."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate/--no-estimate", help="Time a few training steps.")
    ] = True,
) -> None:
    """Account for every record, list problems and warnings, and estimate time and memory of a run.

    Exit code 0: a run would start; 2: it would not.
    """
    import sys

    from incrt_cli.config.load import load_config
    from incrt_cli.data.check import check_data

    try:
        resolved = load_config(config, overrides or ())
    except UserError as error:
        if as_json:
            _print_json(_as_json(None, [str(error)], [], None))
        raise
    # With --json, standard output is the object's alone.
    found = check_data(
        resolved.data, resolved.name, lambda line: print(line, file=sys.stderr if as_json else None)
    )
    cost = _estimate(resolved, found.task, found.problems) if estimate else None
    if as_json:
        _print_json(_as_json(found.task, found.problems, found.warnings, cost))
    else:
        for line in _lines(found.problems, found.warnings, cost):
            print(line)
    if found.problems:
        raise UserError(f"{len(found.problems)} problem(s): a run with this config would stop")


def _estimate(config: Config, task: Task | None, problems: list[str]) -> CostEstimate | None:
    from incrt_cli.training.pilot import estimate_cost

    if task is None:
        return None
    try:
        return estimate_cost(config, task)
    except UserError as error:
        problems.append(str(error))
        return None


def _lines(problems: list[str], warnings: list[str], cost: CostEstimate | None) -> list[str]:
    lines = [f"PROBLEM: {text}" for text in problems] + [f"warning: {text}" for text in warnings]
    if cost is not None:
        lines.append(f"padding: {cost.padding:.1%} of the positions of training batches")
        for step in cost.costs:
            total = step.seconds * cost.steps
            lines.append(
                f"estimate with {_heads(step.heads)}: {cost.steps:,} steps of {1e3 * step.seconds:,.0f} ms "
                f"= {_duration(total)}; {step.parameters:,} parameters, peak memory {step.peak_mib:,.0f} MiB"
            )
        lines.append(
            "(timed just now on batches of the first epoch; evaluation, gate and baseline come on top)"
        )
    return lines or ["nothing to complain about"]


def _heads(count: int) -> str:
    return "1 head" if count == 1 else f"{count} heads"


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


def _print_json(content: dict[str, Any]) -> None:
    import json

    print(json.dumps(content, indent=2, ensure_ascii=False))


def _as_json(
    task: Task | None, problems: list[str], warnings: list[str], cost: CostEstimate | None
) -> dict[str, Any]:
    estimate = None
    if cost is not None:
        estimate = {
            "steps": cost.steps,
            "padding": cost.padding,
            "step_costs": [dict(vars(step)) for step in cost.costs],
        }
    return {
        "problems": problems,
        "warnings": warnings,
        "estimate": estimate,
        "account": None if task is None else dict(task.summary),
        "sha256": {} if task is None else dict(task.sha256),
    }
