"""Part `memory`: how much a training step takes at its peak, against the number of heads.

On CUDA what the allocator held at most, the model included. On a CPU how far the resident memory of a process
of its own rose from before the model was made: in this process it could only be seen to rise once.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

import torch

from incrt_cli.bench.measurement import Context, Found, Measurement
from incrt_cli.bench.subjects import Shape, random_step, shape_of
from incrt_cli.config.schema import TrainSection
from incrt_cli.errors import UserError
from incrt_cli.training.device import set_up_process
from incrt_cli.training.machine import peak_mib

HEADS, _QUICK_HEADS = (1, 16, 64), (1,)
_STATUS = Path("/proc/self/status")


def memory(context: Context) -> Found:
    """`memory_mib`: {K: MiB}."""
    found, by_heads = Found(), {}
    for heads in _QUICK_HEADS if context.quick else HEADS:
        shape = shape_of(context.config, heads)
        if context.device.type == "cuda":
            mib = _on_cuda(shape, context.config.train, context.device)
        else:
            mib = in_child(shape, context.config.train, context.config.seed)
        by_heads[heads] = mib
        named = shape.named()
        found.measurements.append(Measurement("memory", "peak of a step", named, "MiB", mib, mib, mib, 1))
    found.figures["memory_mib"] = by_heads
    return found


def _on_cuda(shape: Shape, settings: TrainSection, device: torch.device) -> float:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    _two_steps(shape, settings, device)
    return (torch.cuda.max_memory_allocated(device) - before) / 2**20


def in_child(shape: Shape, settings: TrainSection, seed: int) -> float:
    """`rise` in a new process. Raises UserError where that is killed."""
    # spawn: a fork would begin with the parent's memory, and could deadlock over its threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        try:
            return pool.submit(rise, shape, settings, seed).result()
        except BrokenProcessPool as error:
            raise UserError(
                f"memory: the process of a step with {shape.heads} heads was killed; perhaps memory ran out"
            ) from error


def rise(shape: Shape, settings: TrainSection, seed: int) -> float:
    """MiB by which resident memory rises at most; run in a process that has done nothing yet."""
    device = set_up_process(settings, seed)
    # What torch takes for its first step of all belongs to no model.
    _two_steps(Shape(1, 2, 8, 2, 1, 2), settings, device)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _mib("VmRSS")
    _two_steps(shape, settings, device)
    return _mib("VmHWM") - before


def _two_steps(shape: Shape, settings: TrainSection, device: torch.device) -> None:
    step = random_step(shape, settings, device)
    step()
    step()  # from the second on the optimiser's moments are there during the forward pass


def _mib(entry: str) -> float:
    """`entry` of the kernel's account of this process; the peak of resident memory where there is none."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(f"{entry}:"):
                return int(line.split()[1]) / 1024
    return peak_mib()
