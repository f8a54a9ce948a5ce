"""Part `step`: a training step with the gate, with conditioning, and in tokens and operations a second."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from incrt_cli.bench.drive import STEPS_ALONE, Driven, changed, drive, ready
from incrt_cli.bench.measurement import Context, Found, rate_of, seconds_of
from incrt_cli.bench.rate import machine_rate, step_operations
from incrt_cli.bench.timing import Effort, Timing, Work, side_by_side
from incrt_cli.config.schema import Config, GateSection
from incrt_cli.training.loop import Loop

WITH, QUIET, WITHOUT = "with the gate", "with a gate that asks for nothing", "without"
_QUICK_BLOCK = 20  # steps
_TURNS = 5  # in a block
_CONDITIONED = {"conditioning.method": "svd", "conditioning.targets": ("q", "k", "v")}


def steps(context: Context) -> Found:
    """`gate_step_ratio` is of the config's own gate; others stand beside it where no config was given."""
    found = Found()
    own = context.config.gate.variant
    variants = [own] if context.given else list(dict.fromkeys([own, "paper", "significance"]))
    ratios = {
        variant: _asking(context, found) if variant == "significance" else _gate(context, variant, found)
        for variant in variants
    }
    found.figures |= {
        "gate_step_ratio": ratios[own][0],
        "gate_quiet_step_ratio": ratios[own][1],
        "gate_step_ratios": {variant: ratio for variant, (ratio, _) in ratios.items()},
    }
    found.figures["conditioning_step_ratio"] = _conditioning(context, found)
    return found


def block_of(settings: GateSection) -> int:
    """Steps after which the gate's clocks have come round together: observations, looks, certificates."""
    return math.lcm(settings.observe_every, settings.check_every * settings.certify_every)


def gate_runs(context: Context, variant: str, blocks: int) -> tuple[dict[str, Driven], int]:
    """Runs that differ in the gate alone, of the same heads and on the same batches, and a block's steps.

    No head is born, because `gate.max_heads` are there: a gate that would have one looks as dearly as it ever
    does, trackers proposing at every look. One with thresholds out of reach is as it is once growth is over.
    """
    config = _kept(context, variant, context.heads)
    size = min(block_of(config.gate), _QUICK_BLOCK if context.quick else sys.maxsize)
    prepared = {
        WITH: ready(config),
        WITHOUT: ready(changed(config, {"gate.enabled": False})),
        QUIET: ready(changed(config, {"gate.growth_fraction": 0.99})),
    }
    room = size * blocks + 1  # the last step evaluates
    return {name: drive(one, room) for name, one in prepared.items()}, size


def asking_runs(context: Context) -> dict[str, Driven]:
    """A run with the gate that asks the task and one without, of the config's own heads: none is born."""
    kept = _kept(context, "significance", context.config.model.heads)
    config = changed(kept, {"gate.until": context.config.gate.until})
    gated = ready(config)
    # The gate reserves records and trains on the others; so does its static twin.
    static = replace(ready(changed(config, {"gate.enabled": False})), growth_rows=gated.growth_rows)
    return {WITH: drive(gated), WITHOUT: drive(static)}


def _kept(context: Context, variant: str, heads: int) -> Config:
    """Steps alone, of a model that its gate may not let grow."""
    return changed(
        context.config,
        {**STEPS_ALONE, "model.heads": heads, "gate.enabled": True, "gate.variant": variant,
         "gate.max_heads": heads, "gate.attribution": None},
    )  # fmt: skip


def _gate(context: Context, variant: str, found: Found) -> tuple[float, float]:
    """Seconds of a block with the gate, and with one that asks for nothing, over those without."""
    effort = context.long_effort
    runs, size = gate_runs(context, variant, effort.warm_up + effort.repetitions)
    # They take turns within a block too: the shorter a turn, the more alike is what befalls the others.
    turns = _TURNS if size % _TURNS == 0 else 1
    shorter = replace(effort, repetitions=effort.repetitions * turns, least=effort.least * turns)
    timed = side_by_side(_blocks(runs, size // turns), shorter, context.clock)
    timings = {name: timing.together(turns) for name, timing in timed.items()}
    shape = {**_shape(context), "steps": size, "gate": variant}
    found.measurements += seconds_of("step", timings, shape, WITHOUT)
    return timings[WITH].over(timings[WITHOUT]), timings[QUIET].over(timings[WITHOUT])


def _asking(context: Context, found: Found) -> tuple[float, None]:
    """Seconds of all the time in which heads may come, with the gate that asks the task over those without.

    Its looks are the rarer the longer nothing has happened, so that no block of steps stands for all.
    """
    runs = asking_runs(context)
    last = _QUICK_BLOCK if context.quick else runs[WITH].loop.stream.growth_ends
    effort = Effort(repetitions=max(1, last // _TURNS - 1), least=last)
    timed = side_by_side(_blocks(runs, _TURNS), effort, context.clock)
    timings = {name: timing.together(len(timing.seconds)) for name, timing in timed.items()}
    heads = {"K": context.config.model.heads}
    shape = {**_shape(context), **heads, "steps": effort.repetitions * _TURNS, "gate": "significance"}
    found.measurements += seconds_of("step", timings, shape, WITHOUT)
    return timings[WITH].over(timings[WITHOUT]), None


def _conditioning(context: Context, found: Found) -> float:
    """A step with fixed corrections of all three projections over one with none; its speed beside it."""
    config = changed(context.config, {**STEPS_ALONE, "model.heads": context.heads, "gate.enabled": False})
    size = 5 if context.quick else 25
    effort = Effort(2, least=2) if context.quick else Effort(repetitions=11, least=5, seconds=20.0)
    room = size * (effort.warm_up + effort.repetitions) + 1
    settings: dict[str, Mapping[str, Any]] = {
        "conditioned": _CONDITIONED,
        "plain": {"conditioning.method": "none"},
    }
    runs = {name: drive(ready(changed(config, one)), room) for name, one in settings.items()}
    timings = side_by_side(_blocks(runs, size), effort, context.clock)
    found.measurements += seconds_of("step", timings, {**_shape(context), "steps": size}, "plain")
    _speed(context, found, runs["plain"].loop, timings["plain"], size * effort.warm_up)
    return timings["conditioned"].over(timings["plain"])


def _speed(context: Context, found: Found, loop: Loop, timing: Timing, first: int) -> None:
    """Real tokens and floating-point operations of the steps that `timing` is of, which began at `first`."""
    rows = [loop.stream.rows(step) for step in range(first, loop.steps)]
    lengths = [split.lengths[indices] for split, indices in rows]
    rounds = len(timing.seconds)
    tokens = sum(int(of_step.sum()) for of_step in lengths) / rounds
    measured = rate_of("step", "training", timing, tokens, "tokens/s", _shape(context))
    shape = changed(context.config, {"model.heads": context.heads}).model
    operations = sum(step_operations(shape, of_step) for of_step in lengths) / rounds
    rates = machine_rate(context)
    found.measurements += [measured, *rates]
    achieved = operations / timing.median / 1e12
    found.figures |= {
        "tokens_s": measured.median,
        "step_tflop_s": achieved,
        "matrix_tflop_s": {str(rate.shape["type"]): rate.median for rate in rates},
        "model_flops_share": achieved / rates[0].median,
    }


def _blocks(runs: Mapping[str, Driven], size: int) -> dict[str, Work]:
    def block(loop: Loop) -> Work:
        return lambda: loop.run(loop.steps + size)

    return {name: block(run.loop) for name, run in runs.items()}


def _shape(context: Context) -> dict[str, int | str]:
    model, batch = context.config.model, context.config.train.batch_size
    return {
        "B": batch, "d": model.width, "d_k": model.head_width, "K": context.heads, "layers": model.layers,
    }  # fmt: skip
