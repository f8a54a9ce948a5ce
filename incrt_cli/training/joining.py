"""How the processes that torchrun starts come together, and part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist

from incrt_cli.errors import UserError
from incrt_cli.training.ranks import PeerError, Ranks

ANSWER_SECONDS = 600.0  # a process that takes longer over a step than the others is given up
_PATIENCE = timedelta(days=1)  # while the first one prepares data, or writes


@contextmanager
def joined(seconds: float = ANSWER_SECONDS) -> Iterator[Ranks]:
    """The processes that torchrun started, with this one; they part at the end.

    One that does not answer for `seconds` is given up. Raises UserError where the environment is not
    torchrun's, PeerError where another process is not there in time.
    """
    try:
        rank, size, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    except (KeyError, ValueError) as error:
        raise UserError(
            f"WORLD_SIZE, RANK and LOCAL_RANK must be numbers ({error}): start several processes with "
            "torchrun, or unset WORLD_SIZE"
        ) from error
    os.environ["TORCH_NCCL_BLOCKING_WAIT"] = "1"  # or a lost process would abort this one without a word
    ranks = Ranks(rank, size, local)
    with ranks.asking():
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
        patient = dist.new_group(backend="gloo", timeout=_PATIENCE)
    lost = False
    try:
        yield Ranks(rank, size, local, patient)
    except PeerError:
        lost = True
        raise
    finally:
        # Gloo's threads must end before the interpreter does; NCCL's parting waits for the lost one.
        if not (lost and torch.cuda.is_available()):
            dist.destroy_process_group()
