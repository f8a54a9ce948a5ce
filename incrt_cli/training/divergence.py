"""What a run leaves behind that met a number which is not finite."""

from __future__ import annotations

from typing import Any

from incrt_cli.rundir import RunWriter
from incrt_cli.training.loop import Loop


def account(run: RunWriter, loop: Loop, found: str) -> dict[str, Any]:
    """`found`, the records of the last batch read before it, and what is good: the model of the last
    evaluation, in `model/`, and the newest checkpoint that is no younger, None where there is none.
    """
    good = loop.last_good.step
    records = [] if loop.last_rows is None else loop.last_rows[0].records[loop.last_rows[1]]
    return {
        "found": found,
        "step": loop.steps,
        "population": loop.stream.population(loop.steps),
        "records": records,
        "last_good_step": good,
        "last_good_checkpoint": run.checkpoint_up_to(good),
    }
