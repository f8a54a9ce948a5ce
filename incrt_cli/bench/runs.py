"""Part `run`: a whole growing run against the static run of its final head count, block by block in turns."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from incrt_cli.bench.drive import Driven, changed, drive, ready
from incrt_cli.bench.measurement import Context, Found, seconds_of
from incrt_cli.bench.timing import Timing
from incrt_cli.config.schema import Config

# Of a run, or its steps where it has fewer: short beside the time in which a machine's load changes.
_BLOCKS = 20
_QUICK_STEPS = 60


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
    blocks = _in_turns(context, grown, fixed)
    timings = {
        name: Timing(tuple(block[f"{name}_seconds"] for block in blocks)) for name in ("growing", "static")
    }
    measured = seconds_of(
        "run", timings, {"steps": blocks[0]["step"], "of": fixed.loop.steps, "K": fixed.heads}, "static"
    )
    return Found(_figures(grown, fixed, blocks), measured)


def _begin(context: Context, config: Config) -> Driven:
    prepared = ready(config)
    run = drive(prepared)
    short = context.quick and run.loop.total_steps > _QUICK_STEPS
    return drive(prepared, _QUICK_STEPS) if short else run


def _in_turns(context: Context, grown: Driven, fixed: Driven) -> list[dict[str, Any]]:
    """Both runs to their end, a block of each at a time: heads and seconds of every block."""
    total, blocks = grown.loop.total_steps, []
    parts = min(_BLOCKS, total)
    for part in range(1, parts + 1):
        step = math.ceil(part * total / parts)
        seconds = [context.clock(partial(run.loop.run, step)) for run in (grown, fixed)]
        blocks.append(
            {
                "step": step,
                "heads": grown.heads,
                "growing_seconds": seconds[0],
                "static_seconds": seconds[1],
            }
        )
    return blocks


def _figures(grown: Driven, fixed: Driven, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    totals = {name: sum(block[f"{name}_seconds"] for block in blocks) for name in ("growing", "static")}
    last = _looks(fixed)[-1]
    step = next((look["step"] for look in _looks(grown) if look["loss"] <= last["loss"]), None)
    reached = None if step is None else seconds_to(step, blocks)
    return {
        "run_ratio": totals["growing"] / totals["static"],
        "run_to_loss_ratio": None if reached is None else reached / totals["static"],
        "run": {
            "growing_seconds": totals["growing"],
            "static_seconds": totals["static"],
            "growing_heads": grown.heads,
            "static_heads": fixed.heads,
            "growing_loss": _looks(grown)[-1]["loss"],
            "static_loss": last["loss"],
            "loss_on": last["split"],
            "steps_to_static_loss": step,
            "seconds_to_static_loss": reached,
            "blocks": blocks,
        },
    }


def seconds_to(step: int, blocks: list[dict[str, Any]]) -> float:
    """Of the growing run up to `step`: whole blocks, and a share of the one that it lies in."""
    seconds, begun = 0.0, 0
    for block in blocks:
        share = min(max(step - begun, 0) / (block["step"] - begun), 1.0)
        seconds += share * block["growing_seconds"]
        begun = block["step"]
    return seconds


def _looks(run: Driven) -> list[dict[str, Any]]:
    """The evaluations of the population that the run ends with."""
    looks = [row for row in run.notes.rows if row["kind"] == "evaluation"]
    return [look for look in looks if look.get("population") == looks[-1].get("population")]
