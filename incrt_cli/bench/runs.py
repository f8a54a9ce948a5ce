"""Part `run`: a whole growing run against the static run of its final head count, block by block in turns."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from incrt_cli.bench.drive import Notes, changed, loop_for, ready
from incrt_cli.bench.measurement import Context, Found, seconds_of
from incrt_cli.bench.timing import Timing
from incrt_cli.config.schema import Config
from incrt_cli.model.classifier import Classifier
from incrt_cli.training.loop import Loop
from incrt_cli.training.progress import Silent

_BLOCKS = 20  # of a run; short beside the time in which a machine's load changes
_QUICK_STEPS = 60


class _Run(NamedTuple):
    model: Classifier
    loop: Loop
    notes: Notes

    @property
    def heads(self) -> int:
        return sum(self.model.head_counts)

    @property
    def looks(self) -> list[dict[str, Any]]:
        """Evaluations on what the run is monitored on."""
        return [row for row in self.notes.rows if row["kind"] == "evaluation"]


def runs(context: Context) -> Found:
    """`run_ratio`: seconds of the growing over the static run to the same step, evaluations included.

    `run_to_loss_ratio`: the growing run's seconds until its validation loss is what the static one's is at
    the end, over the seconds of the static one; None if that never comes.
    """
    growing = changed(context.config, {"gate.enabled": True})
    # How many heads there will be shows at the end only; this run is the warm-up besides.
    first = _begin(context, growing)
    first.loop.run()
    counts = first.model.head_counts
    shape = {"model.heads": math.ceil(sum(counts) / len(counts)), "model.layers": len(counts)}
    static = changed(growing, {"gate.enabled": False, "depth.enabled": False, **shape})
    grown, fixed = _begin(context, growing), _begin(context, static)
    blocks = _in_turns(grown, fixed)
    timings = {
        name: Timing(tuple(block[f"{name}_seconds"] for block in blocks)) for name in ("growing", "static")
    }
    measured = seconds_of(
        "run", timings, {"steps": blocks[0]["step"], "of": fixed.loop.steps, "K": fixed.heads}, "static"
    )
    return Found(_figures(grown, fixed, blocks), measured)


def _begin(context: Context, config: Config) -> _Run:
    prepared, notes = ready(config), Notes()
    loop = Loop(prepared, notes, Silent())
    if context.quick and loop.total_steps > _QUICK_STEPS:
        loop = loop_for(prepared, _QUICK_STEPS, notes)
    return _Run(prepared.model, loop, notes)


def _in_turns(grown: _Run, fixed: _Run) -> list[dict[str, Any]]:
    """Both runs to their end, a block of each at a time: heads and seconds of every block."""
    total, blocks = grown.loop.total_steps, []
    size = math.ceil(total / _BLOCKS)
    while grown.loop.steps < total:
        before = [run.loop.course.seconds for run in (grown, fixed)]
        for run in (grown, fixed):
            run.loop.run(min(run.loop.steps + size, total))
        blocks.append(
            {
                "step": grown.loop.steps,
                "heads": grown.heads,
                "growing_seconds": grown.loop.course.seconds - before[0],
                "static_seconds": fixed.loop.course.seconds - before[1],
            }
        )
    return blocks


def _figures(grown: _Run, fixed: _Run, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    seconds, target = fixed.loop.course.seconds, fixed.looks[-1]["loss"]
    reached = next((look["seconds"] for look in grown.looks if look["loss"] <= target), None)
    return {
        "run_ratio": grown.loop.course.seconds / seconds,
        "run_to_loss_ratio": None if reached is None else reached / seconds,
        "run": {
            "growing_seconds": grown.loop.course.seconds,
            "static_seconds": seconds,
            "growing_heads": grown.heads,
            "static_heads": fixed.heads,
            "growing_loss": grown.looks[-1]["loss"],
            "static_loss": target,
            "loss_on": fixed.looks[-1]["split"],
            "seconds_to_static_loss": reached,
            "blocks": blocks,
        },
    }
