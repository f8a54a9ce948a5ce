"""Several processes that train one model: who this one is, and what it asks of the others.

    ∇L = Σ_r ∇L_r,   L_r = (1/B) Σ_{i in slice r} ℓ_i

Every rank holds the whole model and optimiser. The rows of a step (B of all ranks together) are cut into one
slice a rank, and the gradients of the slices are summed; what follows from the sum is the same on every rank,
bit for bit. There is no wrapper around the model, since its parameters change with every birth.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from incrt_cli.errors import UserError
from incrt_cli.growth.peers import Peers

_CPU = torch.device("cpu")


class PeerError(UserError):
    """Another process has ended or does not answer, or has come to another model."""


@dataclass(frozen=True)
class Ranks:
    """Process number `rank` of `size`, number `local` of its machine; by default the only one, which asks
    nobody. With several, every method but `own`, `draw_own` and `asking` has to be called by all of them, in
    the same order, and raises PeerError.
    """

    rank: int = 0
    size: int = 1
    local: int = 0
    patient: dist.ProcessGroup | None = None  # the same processes, that wait for each other for longer

    @property
    def first(self) -> bool:
        """Is this the process that writes and speaks?"""
        return self.rank == 0

    @property
    def peers(self) -> Peers:
        return Peers(self.add, self.agree)

    def own(self, rows: np.ndarray) -> np.ndarray:
        """This rank's slice of the rows of a step; empty where there are fewer rows than ranks."""
        return rows if self.size == 1 else np.array_split(rows, self.size)[self.rank]

    def draw_own(self, seed: int, step: int) -> None:
        """Dropout of `step` comes from a stream of this rank's own, so that a resume need not know it."""
        if self.size > 1:
            words = np.random.SeedSequence([seed, step, self.rank]).generate_state(2)
            torch.manual_seed(int(words[0]) << 31 | int(words[1]) >> 1)

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Sum each of `tensors` (of one type and device) over the ranks, in place, in one exchange."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
        with self.asking():
            if flat.is_cuda:
                # Gloo notices at once that a process has ended, NCCL when its time is over.
                dist.all_reduce(torch.zeros(1))
            dist.all_reduce(flat)
        sizes = [tensor.numel() for tensor in tensors]
        for tensor, total in zip(tensors, torch.split(flat, sizes), strict=True):
            tensor.detach().copy_(total.view_as(tensor))

    def add_gradients(self, loss: Tensor, model: nn.Module) -> Tensor:
        """Sum `loss` and the gradients of `model` over the ranks; returns the summed loss."""
        total = loss.detach().clone()
        if self.size > 1:
            for parameter in model.parameters():
                if parameter.grad is None:  # a rank with an empty slice has computed nothing
                    parameter.grad = torch.zeros_like(parameter)
            self.add([total, *(p.grad for p in model.parameters() if p.grad is not None)])
        return total

    def largest(self, *values: int) -> list[int]:
        """The largest of each of `values` over the ranks."""
        if self.size == 1:
            return list(values)
        found = torch.tensor(values, dtype=torch.int64)
        with self.asking():
            dist.all_reduce(found, op=dist.ReduceOp.MAX)
        return [int(value) for value in found]

    def agree(self, what: str) -> None:
        """Raises PeerError unless all ranks come with the same `what`."""
        if self.size == 1:
            return
        digest = int.from_bytes(hashlib.blake2b(what.encode(), digest_size=7).digest(), "big")
        high, low = self.largest(digest, -digest)
        if high != -low:
            raise PeerError(
                f"{self._name}: the processes have come to different models ({what} here); they need the "
                "same data, libraries and kind of device"
            )

    def agree_on(self, model: nn.Module, step: int) -> None:
        """Raises PeerError unless `model` is the same on all ranks, bit for bit."""
        if self.size == 1:
            return
        digest = hashlib.blake2b(digest_size=8)
        for name, tensor in model.state_dict().items():
            digest.update(name.encode() + tensor.cpu().numpy().tobytes())
        self.agree(f"weights {digest.hexdigest()} at step {step}")

    def copy_first(self, model: nn.Module) -> None:
        """Take over the first rank's weights: those of a newborn may differ in their last bits."""
        if self.size > 1:
            with self.asking(), torch.no_grad():
                for tensor in model.state_dict().values():
                    dist.broadcast(tensor, src=0)

    def share(self, value: Any = None) -> Any:
        """The first rank's `value` on every rank."""
        box = [value]
        if self.size > 1:
            with self.asking():
                dist.broadcast_object_list(box, src=0, group=self.patient, device=_CPU)
        return box[0]

    def wait(self) -> None:
        """Until all ranks are here, for as long as the first may take over its files."""
        if self.size > 1:
            with self.asking():
                dist.all_reduce(torch.zeros(1), group=self.patient)

    @contextmanager
    def turns(self) -> Iterator[None]:
        """The first rank goes through alone, then the others: they find in the cache what it has made."""
        if not self.first:
            self.wait()
        yield
        if self.first:
            self.wait()
        self.wait()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """What the others are asked in here raises PeerError where one has ended or does not answer."""
        try:
            yield
        except RuntimeError as error:
            # torch says it in many ways, all of them long; the first sentence tells what happened.
            cause = re.sub(r"\[\S+\.(cc|cpp|h):\d+\] ", "", str(error)).split(". ")[0].split("\n")[0]
            raise PeerError(
                f"{self._name} ends: another one has ended or no longer answers ({cause})"
            ) from error

    @property
    def _name(self) -> str:
        return f"process {self.rank + 1} of {self.size}"


ALONE = Ranks()
