"""Running what a sweep has not finished yet, and keeping its account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from incrt_cli.controls.folders import alone, is_finished
from incrt_cli.rundir import SweepAccount, read_sweep, write_sweep
from incrt_cli.sweep.engine import Engine, Job, Train
from incrt_cli.sweep.plan import Cell


@dataclass(frozen=True)
class Failure:
    """A cell that did not finish, and why."""

    name: str
    error: Exception


def run_sweep(
    cells: Sequence[Cell], parent: Path, engine: Engine, train: Train, say: Callable[[str], None]
) -> list[Failure]:
    """Train every cell that has not finished, each in the folder `parent/NAME`; returns those that failed.

    `sweep.json` there tells after every cell what has been planned and what failed. Raises UserError when
    the folder cannot be used, and passes an interruption on once the running cells have stopped.
    """
    failures: list[Failure] = []
    with alone(parent):
        account = _account(parent, cells)
        write_sweep(parent, account)
        left = [cell for cell in cells if not is_finished(cell.config, parent / cell.name)]
        say(f"{len(cells)} cells, {len(cells) - len(left)} of them finished: {parent}")
        jobs = [Job(cell.name, cell.config, parent / cell.name) for cell in left]
        # Closed by hand: an error here must not leave processes that train on.
        with closing(engine.run(jobs, train)) as ends:
            for number, (job, ended) in enumerate(ends, start=len(cells) - len(left) + 1):
                error = ended.explained()
                how = "finished" if error is None else f"failed: {error}"
                say(f"[{number}/{len(cells)}] {job.name} {how}")
                if error is not None:
                    failures.append(Failure(job.name, error))
                    account.failures[job.name] = str(error)
                else:
                    account.failures.pop(job.name, None)
                write_sweep(parent, account)
    return failures


def _account(parent: Path, cells: Sequence[Cell]) -> SweepAccount:
    """What earlier commands planned here stays; a cell that is taken up again has not failed yet."""
    known = read_sweep(parent)
    names = {cell.name for cell in cells}
    return SweepAccount(
        {**known.cells, **{cell.name: dict(cell.settings) for cell in cells}},
        {name: reason for name, reason in known.failures.items() if name not in names},
    )
