"""Running the planned cells one by one, and taking up again where an earlier command stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from incrt_cli.config.schema import Config
from incrt_cli.controls.counts import GROWN, parse_name
from incrt_cli.controls.folders import alone, is_finished, make_room
from incrt_cli.controls.plan import Cell, plan
from incrt_cli.rundir import find_runs, read_run

Train = Callable[[Config, Path], object]  # trains a config into a run folder that does not exist yet


@dataclass(frozen=True)
class Failure:
    """A cell that did not finish, and why."""

    cell: Cell
    error: Exception


def run_controls(
    config: Config, seeds: Sequence[int], parent: Path, train: Train, say: Callable[[str], None]
) -> list[Failure]:
    """Run every cell of `config` that has not finished under `parent`; returns those that failed.

    Grown runs come first, because static sizes depend on them. Raises UserError when the folder cannot be
    used, and passes an interruption on.
    """
    failures: dict[str, Failure] = {}
    with alone(parent):
        # Twice: the second plan knows what the first one's grown runs ended with.
        for _ in range(2):
            cells = plan(config, seeds, grown_heads(parent, seeds))
            for number, cell in enumerate(cells, start=1):
                if str(cell.name) in failures or is_finished(cell.config, parent / str(cell.name)):
                    continue
                say(f"[{number}/{len(cells)}] {cell.name}")
                try:
                    _run(cell, parent, train)
                except Exception as error:  # one bad cell must not cost the night's others
                    say(f"{cell.name} failed: {error}")
                    failures[str(cell.name)] = Failure(cell, error)
    return list(failures.values())


def grown_heads(parent: Path, seeds: Sequence[int]) -> dict[int, int]:
    """Final heads, over all layers, of the finished grown runs under `parent`, by seed."""
    found: dict[int, int] = {}
    for run in map(read_run, find_runs(parent)):
        name = parse_name(run.name)
        if name and name.control == GROWN and name.seed in seeds and run.status == "complete" and run.result:
            found[name.seed] = int(run.result["heads"])
    return found


def _run(cell: Cell, parent: Path, train: Train) -> None:
    folder = parent / str(cell.name)
    make_room(cell.config, read_run(folder))
    train(cell.config, folder)
