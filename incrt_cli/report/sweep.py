"""The cells of `incrt sweep`, over seeds: one line for every setting, from the run folders of one parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from incrt_cli.report.rows import Row, run_row
from incrt_cli.report.table import ABSENT, Table, mean_sd, whole
from incrt_cli.rundir import Run, SweepAccount, read_run, read_sweep

_SEED = "seed"
_FIGURES = ("heads", "accuracy %", "k_law", "k_greedy", "parameters", "seconds", "runs", "failed")
_NOTE = (
    "Mean ± sample standard deviation over the runs of a setting that finished, of as many as were planned."
)

Setting = tuple[tuple[str, str], ...]  # swept keys with their values, seeds left out


def sweep_tables(runs: Sequence[Run]) -> list[Table]:
    """One table for every parent folder with a `sweep.json`, unless `runs` lack some that finished there."""
    parents: dict[Path, dict[str, Run]] = {}
    for run in runs:
        parents.setdefault(run.path.parent, {})[run.name] = run
    accounts = ((parent, read_sweep(parent), members) for parent, members in parents.items())
    return [
        sweep_table(parent.name, account, members)
        for parent, account, members in accounts
        if account.cells and not _others_finished(parent, account, members)
    ]


def sweep_table(name: str, account: SweepAccount, runs: Mapping[str, Run]) -> Table:
    """`runs` by folder name; a cell that is not among them, or has not finished, counts as planned."""
    settings: dict[Setting, list[str]] = {}
    for cell, values in account.cells.items():
        setting = tuple((key, value) for key, value in values.items() if key != _SEED)
        settings.setdefault(setting, []).append(cell)
    keys = tuple(dict.fromkeys(key for setting in settings for key, _ in setting))
    lines = tuple(
        (*(dict(setting).get(key, ABSENT) for key in keys), *_figures(cells, account, runs))
        for setting, cells in settings.items()
    )
    # Without a swept key but the seed there is one setting, which needs a name all the same.
    shown = keys or ("setting",)
    rows = lines if keys else tuple(("all", *line) for line in lines)
    return Table(f"Sweep: {name}", (*shown, *_FIGURES), rows, (_NOTE,), text_columns=len(shown))


def _others_finished(parent: Path, account: SweepAccount, runs: Mapping[str, Run]) -> bool:
    return any(read_run(parent / cell).status == "complete" for cell in account.cells if cell not in runs)


def _figures(cells: Sequence[str], account: SweepAccount, runs: Mapping[str, Run]) -> tuple[str, ...]:
    finished = [run_row(runs[cell]) for cell in cells if cell in runs and runs[cell].status == "complete"]
    done = {row["name"] for row in finished}
    failed = [cell for cell in cells if cell in account.failures and cell not in done]
    return (
        mean_sd(_column(finished, "heads")),
        mean_sd(_column(finished, "accuracy"), scale=100),
        *(mean_sd(_column(finished, key)) for key in ("k_law", "k_greedy")),
        mean_sd(_column(finished, "parameters"), 0),
        mean_sd(_column(finished, "seconds")),
        f"{len(finished)} of {len(cells)}",
        whole(len(failed)),
    )


def _column(rows: Sequence[Row], key: str) -> list[float | None]:
    return [row[key] for row in rows]
