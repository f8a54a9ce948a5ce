"""The memory that a run will take, with its heads now and with those of the bound, against what there is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from incrt_cli.training.machine import available_bytes
from incrt_cli.training.memory import Load, MemoryEstimate, estimate_memory
from incrt_cli.training.prepare import Prepared
from incrt_cli.training.reserved import looked_at
from incrt_cli.training.shortage import advice, heads_text, rows_text

_MIB = 2**20
_PARTS = ("held", "step", "look", "evaluation", "checkpoint")


def estimates(prepared: Prepared) -> dict[str, MemoryEstimate]:
    """`now`: with the heads that there are; `k_bound`: with those that are predicted at most, where the model
    grows. Layers that may come on top are not counted.
    """
    model = prepared.model
    now = tuple(model.head_counts)
    counts = {"now": now}
    if prepared.predictions:
        most = prepared.config.gate.max_heads or math.inf
        bounds = zip(now, prepared.predictions, strict=True)
        counts["k_bound"] = tuple(max(k, int(min(layer.k_bound, most))) for k, layer in bounds)
    load = _load(prepared)
    return {
        name: estimate_memory(model.architecture, heads, prepared.parameters_at(sum(heads)), load)
        for name, heads in counts.items()
    }


def _load(prepared: Prepared) -> Load:
    """The longest rows, as many as pass together: `Stream` puts rows of like length into one batch."""
    settings, gate, train = prepared.config.train, prepared.config.gate, prepared.task.splits["train"]
    own = math.ceil(min(settings.batch_size, len(train)) / prepared.ranks.size)
    growing = prepared.growth_rows
    longest = int(train.lengths.max())
    viewed = 0 if growing is None else len(train) - len(growing) + min(gate.search_rows, len(growing))
    return Load(
        rows=math.ceil(own / settings.accumulate),
        tokens=longest,
        wide=min(4 * settings.rows_at_once, len(train)),
        looked=min(looked_at(longest), len(train)),
        viewed=round(viewed * float(train.lengths.mean())),
        asks=growing is not None,
        recompute=settings.recompute,
        bfloat16=settings.precision == "bfloat16",
        cuda=prepared.device.type == "cuda",
    )


def memory_json(found: Mapping[str, MemoryEstimate]) -> dict[str, Any]:
    """For the run folder's prediction: bytes."""
    return {name: asdict(estimate) for name, estimate in found.items()}


def memory_line(estimate: MemoryEstimate) -> str:
    """Where the peak comes from, in MiB: what is held all the time and the largest of the others."""
    sizes = {name: getattr(estimate, name) / _MIB for name in _PARTS}
    parts = ", ".join(f"{name} {size:,.0f}" for name, size in sizes.items() if size)
    rows = rows_text(estimate.rows, estimate.tokens)
    return (
        f"memory for tensors, with {heads_text(estimate.heads)} and {rows} at a time: "
        f"peak {estimate.peak / _MIB:,.0f} MiB ({parts})"
    )


def too_large(prepared: Prepared, found: Mapping[str, MemoryEstimate]) -> str | None:
    """A warning for a run whose estimate is above what the machine has free."""
    largest = max(found.values(), key=lambda estimate: estimate.peak)
    free = available_bytes(prepared.device)
    if free is None or largest.peak <= free:
        return None
    # What is held is there whatever the pieces, and a checkpoint or a look has none of them.
    top = largest.peak - largest.held if largest.held < free else None
    how = advice(
        prepared.config.train, top in (largest.step, largest.evaluation), top in (largest.step, largest.look)
    )
    return f"warning: {memory_line(largest)}, and {free / _MIB:,.0f} MiB are free; should it not fit, {how}"
