"""Device, threads, precision and seeds of a process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

from incrt_cli.config.schema import TrainSection
from incrt_cli.data.task import Batch
from incrt_cli.errors import UserError


def set_up_process(settings: TrainSection, seed: int, local: int | None = None) -> torch.device:
    """Seed torch, set threads and determinism, choose the device; `local`: the CUDA device of a process.

    Raises UserError where CUDA is asked for and absent, or has fewer devices than there are processes.
    """
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    # Gradients of well-learnt examples become denormal numbers, which CPUs handle many times slower.
    torch.set_flush_denormal(True)
    torch.manual_seed(seed)
    if settings.deterministic:
        # Read when cuBLAS starts; without it its sums may come in another order every time.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if torch.are_deterministic_algorithms_enabled() != settings.deterministic:
        # Only where it changes: the call takes seconds, since it imports torch's compiler.
        torch.use_deterministic_algorithms(settings.deterministic)
    available = torch.cuda.is_available()
    if settings.device == "cuda" and not available:
        raise UserError("train.device: cuda, but torch finds no CUDA device here; use cpu or auto")
    if not available or settings.device == "cpu":
        return torch.device("cpu")
    if local is None:
        return torch.device("cuda")
    if local >= torch.cuda.device_count():
        raise UserError(
            f"{local + 1} processes or more, but torch finds {torch.cuda.device_count()} CUDA devices here: "
            "start fewer, or take train.device=cpu"
        )
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


@contextlib.contextmanager
def precision(settings: TrainSection, device: torch.device) -> Iterator[None]:
    """Autocast to bfloat16 where the config asks for it; weights and geometry stay float32 or better."""
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
        yield


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch on `device`. A mask without padding becomes None: attention then has a faster kernel."""
    tokens, mask, labels = batch
    if mask is not None and bool(mask.all()):
        mask = None
    if device.type == "cpu":
        return Batch(tokens, mask, labels)
    with torch.cuda.device(device):  # which a thread does not inherit: pinning asks the current one
        return Batch(
            _move(tokens, device), None if mask is None else _move(mask, device), _move(labels, device)
        )


def _move(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    return tensor.pin_memory().to(device, non_blocking=True)
