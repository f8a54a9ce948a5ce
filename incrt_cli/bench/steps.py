"""Part `step`: a training step with the gate, with conditioning, and in tokens and operations a second."""

from __future__ import annotations

import math
from dataclasses import replace

from incrt_cli.bench.drive import STEPS_ALONE, changed, loop_for, ready
from incrt_cli.bench.measurement import Context, Found, rate_of, seconds_of
from incrt_cli.bench.rate import machine_rate, step_operations
from incrt_cli.bench.timing import Effort, Timing, Work, side_by_side
from incrt_cli.config.schema import Config, GateSection
from incrt_cli.growth.progress import interval
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import Prepared

_QUICK_BLOCK = 20
_CONDITIONED = {"conditioning.method": "svd", "conditioning.targets": ("q", "k", "v")}


def steps(context: Context) -> Found:
    """`gate_step_ratio` is of the config's own gate; others stand beside it where no config was given."""
    found = Found()
    own = context.config.gate.variant
    variants = [own] if context.given else list(dict.fromkeys([own, "paper", "significance"]))
    by_variant = {variant: _gate(context, variant, found) for variant in variants}
    found.figures |= {"gate_step_ratio": by_variant[own], "gate_step_ratios": by_variant}
    found.figures["conditioning_step_ratio"] = _conditioning(context, found)
    return found


def block_of(settings: GateSection) -> int:
    """Steps after which the gate's clocks have come round together: observations, looks, decisions."""
    clocks = [settings.observe_every, settings.check_every]
    if settings.variant == "significance":
        clocks.append(interval(settings.settle))
    else:
        clocks.append(settings.check_every * settings.certify_every)
    return math.lcm(*clocks)


def _gate(context: Context, variant: str, found: Found) -> float:
    """Seconds of a block with the gate over those of the same block without it: same heads, same batches.

    No head is born because `gate.max_heads` are there; that the gate would have one makes the trackers
    propose at every look, so this is the dearest cadence of looks.
    """
    heads = context.heads
    config = changed(
        context.config,
        {**STEPS_ALONE, "model.heads": heads, "gate.enabled": True, "gate.variant": variant,
         "gate.max_heads": heads, "gate.attribution": None},
    )  # fmt: skip
    size, effort = block_of(config.gate), context.long_effort
    if context.quick:
        size = min(size, _QUICK_BLOCK)
    gated = ready(config)
    # A gate that reserves records trains on the others; so does its static twin.
    static = replace(_static(config), growth_rows=gated.growth_rows)
    room = size * (effort.warm_up + effort.repetitions) + 1  # the last step evaluates
    loops = {"with the gate": loop_for(gated, room), "without": loop_for(static, room)}
    timings = side_by_side(_blocks(loops, size), effort, context.clock)
    shape = {**_shape(config), "steps": size, "gate": variant}
    found.measurements += seconds_of("step", timings, shape, "without")
    return timings["with the gate"].over(timings["without"])


def _conditioning(context: Context, found: Found) -> float:
    """A step with fixed corrections of all three projections over one with none; its speed beside it."""
    config = changed(context.config, {**STEPS_ALONE, "model.heads": context.heads, "gate.enabled": False})
    size = 5 if context.quick else 25
    effort = Effort(2, least=2) if context.quick else Effort(repetitions=11, seconds=20.0)
    room = size * (effort.warm_up + effort.repetitions) + 1  # the last step evaluates
    plain = loop_for(ready(changed(config, {"conditioning.method": "none"})), room)
    loops = {"conditioned": loop_for(ready(changed(config, _CONDITIONED)), room), "plain": plain}
    timings = side_by_side(_blocks(loops, size), effort, context.clock)
    shape = {**_shape(config), "steps": size}
    found.measurements += seconds_of("step", timings, shape, "plain")
    _speed(context, found, plain, timings["plain"], size * effort.warm_up)
    return timings["conditioned"].over(timings["plain"])


def _speed(context: Context, found: Found, loop: Loop, timing: Timing, first: int) -> None:
    """Real tokens and floating-point operations of the steps that `timing` is of, which began at `first`."""
    rows = [loop.stream.rows(step) for step in range(first, loop.steps)]
    lengths = [split.lengths[indices] for split, indices in rows]
    rounds = len(timing.seconds)
    tokens = sum(int(of_step.sum()) for of_step in lengths) / rounds
    config = changed(context.config, {"model.heads": context.heads})
    measured = rate_of("step", "training", timing, tokens, "tokens/s", _shape(config))
    operations = sum(step_operations(config, of_step) for of_step in lengths) / rounds
    rates = machine_rate(context)
    found.measurements += [measured, *rates]
    achieved = operations / timing.median / 1e12
    found.figures |= {
        "tokens_s": measured.median,
        "step_tflop_s": achieved,
        "matrix_tflop_s": {str(rate.shape["type"]): rate.median for rate in rates},
        "model_flops_share": achieved / rates[0].median,
    }


def _static(config: Config) -> Prepared:
    return ready(changed(config, {"gate.enabled": False}))


def _blocks(loops: dict[str, Loop], size: int) -> dict[str, Work]:
    return {name: lambda loop=loop: loop.run(loop.steps + size) for name, loop in loops.items()}  # type: ignore[misc]


def _shape(config: Config) -> dict[str, int | str]:
    model = config.model
    return {
        "B": config.train.batch_size, "d": model.width, "d_k": model.head_width, "K": model.heads,
        "layers": model.layers,
    }  # fmt: skip
