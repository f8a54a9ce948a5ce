"""The bench's own small config, on the CPU."""

from __future__ import annotations

from incrt_cli.bench.measurement import Context
from incrt_cli.bench.suite import bench_config, context_for


def small(*overrides: str, given: bool = False) -> Context:
    config = bench_config(None, ["train.threads=1", "train.device=cpu", *overrides], quick=True)
    return context_for(config, given, quick=True)
