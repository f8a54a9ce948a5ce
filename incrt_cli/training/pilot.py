"""What a run will cost: a few real steps, timed, before anybody waits for all of them."""

from __future__ import annotations

import math
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from incrt_cli.config.schema import Config
from incrt_cli.data.batches import epoch_batches, padding_share, sequential_batches
from incrt_cli.data.task import Batch, Task
from incrt_cli.model.classifier import count_parameters
from incrt_cli.training.device import precision, set_up_process, to_device
from incrt_cli.training.optimizer import build_optimizer
from incrt_cli.training.prepare import build_model

_TIMED_STEPS = 6
GROWN = 32  # heads a layer of the larger pilot; the shipped tasks grew 14 to 24


@dataclass(frozen=True)
class StepCost:
    """One training step with `heads` in each layer; `peak_mib` is the process's (on CUDA the device's)."""

    heads: int
    parameters: int
    seconds: float
    peak_mib: float


@dataclass(frozen=True)
class CostEstimate:
    """`steps` in all; the true run lies between the costs, as far as its steps are like these.

    `padding`: share of the positions of the first epoch's batches that hold no token.
    """

    steps: int
    padding: float
    costs: Sequence[StepCost]


def estimate_cost(config: Config, task: Task) -> CostEstimate:
    """Times steps on the first batches of an epoch, after one on the longest rows, where memory is tightest.

    Raises UserError for a device that is absent; running out of memory is left to the caller.
    """
    device = set_up_process(config.train, config.seed)
    train = task.splits["train"]
    longest = sequential_batches(train.lengths, config.train.batch_size)[-1]
    epoch = epoch_batches(train.lengths, config.train.batch_size, config.seed, 0)
    pilots = [to_device(train.batch(rows), device) for rows in (longest, *epoch[:_TIMED_STEPS])]
    sizes = [config.model.heads]
    if config.gate.enabled:
        sizes.append(min(config.gate.max_heads or GROWN, GROWN))
    # The larger model comes last: a process's peak memory never falls again.
    costs = [_cost(config, task, pilots, device, heads) for heads in sorted(set(sizes))]
    steps = math.ceil(config.train.epochs * len(epoch))
    return CostEstimate(steps, padding_share(train.lengths, epoch), costs)


def _cost(config: Config, task: Task, batches: Sequence[Batch], device: torch.device, heads: int) -> StepCost:
    shape = config.model.model_copy(update={"heads": heads})
    model = build_model(config.model_copy(update={"model": shape}), task).to(device)
    optimizer = build_optimizer(model, config.train)

    def step(batch: Batch) -> float:
        started = time.perf_counter()
        with precision(config.train, device):
            loss = F.cross_entropy(model(batch.tokens, batch.mask), batch.labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        float(loss.detach())  # waits for a GPU to finish
        return time.perf_counter() - started

    step(batches[0])  # allocations and kernels of the first one are no measure of the rest
    seconds = statistics.mean(step(batch) for batch in batches[1:])
    return StepCost(heads, count_parameters(model), seconds, _peak_mib(device))


def _peak_mib(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
