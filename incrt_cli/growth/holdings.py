"""Which heads a layer has, and which planes of Q are theirs (METHOD §3, §4, §7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from incrt_cli.geometry.attribution import holder, most_planes
from incrt_cli.geometry.capture import Capture, capture_plane, empty_capture, release_head
from incrt_cli.geometry.functional import release_energies
from incrt_cli.geometry.operator import DirectionalOperator
from incrt_cli.geometry.spectrum import Extremes


class Holdings:
    """Of one layer of `width` d, whose heads capture the first `columns` directions of a plane [u⁺, u⁻]."""

    def __init__(self, width: int, columns: int) -> None:
        self._width, self._columns = width, columns
        self._heads: list[int] = []  # in the order of the bank, which is that of the operator's factors
        self.capture = empty_capture(width)

    def state(self) -> dict[str, Any]:
        return {"heads": self._heads, "capture": self.capture.state()}

    def load_state(self, state: Mapping[str, Any], device: torch.device) -> None:
        self._heads = list(state["heads"])
        self.capture = Capture.from_state(state["capture"], device)

    def open(self, heads: int, device: torch.device) -> None:
        """Begin with `heads` heads that own nothing; Q is kept on `device`."""
        self._heads = list(range(heads))
        self.capture = empty_capture(self._width, device)

    @property
    def basis(self) -> Tensor:
        """Q (d × r)."""
        return self.capture.basis

    @property
    def planes(self) -> int:
        """Captured planes, of all heads."""
        return len(self.capture.owners) // self._columns

    @property
    def free_dimensions(self) -> int:
        return self._width - len(self.capture.owners)

    def append(self, head: int) -> None:
        """`head` was born; what it captures is yet to be taken."""
        self._heads.append(head)

    def take(self, head: int, plane: Tensor) -> None:
        """`plane` (d × 2) joins Q for `head`."""
        self.capture = capture_plane(self.capture, head, plane[:, : self._columns])

    def remove(self, head: int) -> None:
        """`head` is gone, and its planes leave Q."""
        self.capture = release_head(self.capture, head)
        self._heads.remove(head)

    def holder(self, op: DirectionalOperator, found: Extremes, share: float) -> int | None:
        """The head that holds `share` of the direction `found` and may capture it too (level 2), if any."""
        most = most_planes(op, len(self._heads))
        room = [most - self.capture.owners.count(head) // self._columns for head in self._heads]
        place = holder(op, found, room, share)
        return None if place is None else self._heads[place]

    def releases(self, op: DirectionalOperator) -> dict[int, float]:
        """√E_h of every head that owns a plane."""
        return {head: released**0.5 for head, released in release_energies(op, self.capture).items()}
