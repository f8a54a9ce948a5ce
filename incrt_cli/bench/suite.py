"""All parts of the bench, one after the other in one process, and the config that they take by default."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from incrt_cli.bench.curves import curves
from incrt_cli.bench.events import events
from incrt_cli.bench.inference import inference
from incrt_cli.bench.inputs import inputs
from incrt_cli.bench.layers import layers
from incrt_cli.bench.measurement import Context, Found
from incrt_cli.bench.memory import memory
from incrt_cli.bench.runs import runs
from incrt_cli.bench.steps import steps
from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.errors import UserError
from incrt_cli.training.device import set_up_process

Say = Callable[[str], None]
HEADLINES = ("gate_step_ratio", "birth_steps", "layer_ratio", "loop_ratio", "run_ratio", "fasta_mb_s")


class Part(NamedTuple):
    measure: Callable[[Context], Found]
    about: str


PARTS = {
    "step": Part(steps, "training steps with and without the gate, with and without conditioning"),
    "layer": Part(layers, "a layer against torch's own, and against a loop over heads"),
    "events": Part(events, "births, prunes and looks, in training steps"),
    "run": Part(runs, "a growing run against the static run of its final head count"),
    "input": Part(inputs, "FASTA and text to tokens"),
    "inference": Part(inference, "sequences a second"),
    "memory": Part(memory, "peak memory of a step"),
    "curves": Part(curves, "the cost of a step against heads, width, tokens and classes"),
}
# As configs/cov2_synthetic.yaml: needs no download.
_SYNTHETIC: dict[str, Any] = {
    "name": "cov2-synthetic",
    "data": {
        "kind": "synthetic", "variants": 6, "genomes": 2000, "substitutions": 60, "region": "21563:22162",
        "k": 6, "stride": 6, "max_tokens": 100, "test_fraction": 0.2,
    },
    "gate": {"variant": "paper"},
    "train": {"epochs": 15.0},
}  # fmt: skip
_SMALL: dict[str, Any] = {
    **_SYNTHETIC,
    "data": {**_SYNTHETIC["data"], "variants": 3, "genomes": 120},
    "model": {"width": 16, "head_width": 4, "value_width": 4},
    "gate": {
        "variant": "paper",
        "calibration_batches": 2,
        "check_every": 4,
        "certify_every": 2,
        "settle": 8,
        "probe_rows": 32,
        "search_rows": 32,
    },
    "train": {"epochs": 15.0, "batch_size": 8},
}


def chosen(only: str | None) -> list[str]:
    """The parts named in `only`, in the order they run. Raises UserError that lists those there are."""
    names = list(PARTS) if only is None else [name.strip() for name in only.split(",")]
    unknown = sorted({name for name in names if name not in PARTS})
    if unknown:
        shown = ", ".join(name or "(nothing)" for name in unknown)
        raise UserError(f"--only: no part {shown}; there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in names]


def bench_config(path: Path | None, overrides: Sequence[str], quick: bool) -> Config:
    """The config at `path`, or the synthetic one, smaller where it has to be `quick`. Raises UserError."""
    base = (_SMALL if quick else _SYNTHETIC) if path is None else None
    return load_config(path, overrides, base)


def bench(context: Context, parts: Sequence[str], say: Say) -> dict[str, Any]:
    """Figures of `parts` as plain values; a headline of a part that was left out is None.

    Raises UserError for data that cannot be used, DivergedError.
    """
    figures: dict[str, Any] = dict.fromkeys(HEADLINES)
    figures |= {"curves": {}, "environment": _environment(context), "measurements": []}
    for number, name in enumerate(parts, start=1):
        say(f"{number}/{len(parts)} {name}: {PARTS[name].about}")
        found = PARTS[name].measure(context)
        figures |= found.figures
        figures["measurements"] += [asdict(one) for one in found.measurements]
    return figures


def context_for(config: Config, given: bool, quick: bool, cpu_time: bool = False) -> Context:
    """Raises UserError where the device is absent, or has no CPU time."""
    device = set_up_process(config.train, config.seed)
    if cpu_time and device.type == "cuda":
        raise UserError("--cpu-time: what a GPU computes does not show in it; take train.device=cpu")
    return Context(config, device, given, quick, cpu_time)


def _environment(context: Context) -> dict[str, Any]:
    """What a timing depends on; `load` is the system's over the minute before."""
    on_cuda = context.device.type == "cuda"
    return {
        "device": str(context.device),
        "gpu": torch.cuda.get_device_name(context.device) if on_cuda else None,
        "threads": torch.get_num_threads(),
        "cpu_count": os.cpu_count(),
        "load": os.getloadavg()[0],
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "config": context.config.name,
        "clock": "CUDA events" if on_cuda else "CPU time" if context.cpu_time else "wall time",
        "precision": context.config.train.precision,
        "quick": context.quick,
    }
