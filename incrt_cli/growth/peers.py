"""What growth asks of the other processes that train the same model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

Add = Callable[[Sequence[Tensor]], None]


def _nothing(what: object) -> None:
    pass


@dataclass(frozen=True)
class Peers:
    """`add` sums tensors over all processes, in place; `agree` raises unless all of them call it with the
    same text. A process that trains alone does neither.
    """

    add: Add = _nothing
    agree: Callable[[str], None] = _nothing


ALONE = Peers()
