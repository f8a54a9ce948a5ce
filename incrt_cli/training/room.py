"""Whether a config leaves growth any room: limits above what there is at the start, and steps enough."""

from __future__ import annotations

from incrt_cli.config.schema import Config
from incrt_cli.errors import UserError
from incrt_cli.growth.progress import interval
from incrt_cli.training.stream import Stream


def require_room(config: Config) -> None:
    """Raises UserError where a growing model starts above its own limits."""
    gate, depth, model = config.gate, config.depth, config.model
    if not gate.enabled:
        return
    if gate.max_heads is not None and model.heads > gate.max_heads:
        raise UserError(
            f"model.heads = {model.heads} at the start is more than gate.max_heads = {gate.max_heads}: "
            "raise that, or start with fewer"
        )
    if depth.enabled and model.layers > depth.max_layers:
        raise UserError(
            f"model.layers = {model.layers} at the start is more than depth.max_layers = {depth.max_layers}: "
            "raise that, or start with fewer"
        )


def too_short(config: Config, stream: Stream) -> str | None:
    """A warning for a run in which no head can be born, however much the gate would like one."""
    gate = config.gate
    if not gate.enabled:
        return None
    if gate.variant == "significance":
        # The first decision that a head may be born at: the start has its `settle` steps too.
        step = interval(gate.settle)
        first, key = -(-gate.settle // step) * step, "gate.settle"
    else:
        first, key = gate.check_every, "gate.check_every"
    if first <= stream.growth_ends:
        return None
    return (
        f"warning: growth ends at step {stream.growth_ends:,} of {stream.total_steps:,}, and no head can be "
        f"born before step {first:,}: the model keeps its heads. Lower {key}, or train for more epochs"
    )
