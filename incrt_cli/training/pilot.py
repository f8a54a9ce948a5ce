"""What a run will cost: a few real steps, timed, before anybody waits for all of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from incrt_cli.config.schema import Config
from incrt_cli.data.batches import epoch_batches, padding_share, sequential_batches
from incrt_cli.data.task import Task
from incrt_cli.model.classifier import count_parameters
from incrt_cli.training.device import set_up_process
from incrt_cli.training.machine import peak_mib
from incrt_cli.training.optimizer import build_optimizer
from incrt_cli.training.part import Part, add_up, parts_of
from incrt_cli.training.prepare import build_model
from incrt_cli.training.ranks import ALONE

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

    Raises UserError for a device that is absent and a model that does not fit into memory.
    """
    device = set_up_process(config.train, config.seed)
    train = task.splits["train"]
    longest = sequential_batches(train.lengths, config.train.batch_size)[-1]
    epoch = epoch_batches(train.lengths, config.train.batch_size, config.seed, 0)
    pieces = config.train.accumulate
    pilots = [parts_of(train, rows, ALONE, pieces, device) for rows in (longest, *epoch[:_TIMED_STEPS])]
    sizes = [config.model.heads]
    if config.gate.enabled:
        sizes.append(min(config.gate.max_heads or GROWN, GROWN))
    # The larger model comes last: a process's peak memory never falls again.
    costs = [_cost(config, task, pilots, device, heads) for heads in sorted(set(sizes))]
    steps = math.ceil(config.train.epochs * len(epoch))
    return CostEstimate(steps, padding_share(train.lengths, epoch), costs)


def _cost(
    config: Config, task: Task, steps: Sequence[Sequence[Part]], device: torch.device, heads: int
) -> StepCost:
    shape = config.model.model_copy(update={"heads": heads})
    model = build_model(config.model_copy(update={"model": shape}), task).to(device)
    optimizer = build_optimizer(model, config.train)

    def step(parts: Sequence[Part]) -> float:
        started = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = add_up(model, parts, config.train, device)
        optimizer.step()
        float(loss)  # waits for a GPU to finish
        return time.perf_counter() - started

    step(steps[0])  # allocations and kernels of the first one are no measure of the rest
    seconds = statistics.mean(step(parts) for parts in steps[1:])
    return StepCost(heads, count_parameters(model), seconds, _peak_mib(device))


def _peak_mib(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    return peak_mib()
