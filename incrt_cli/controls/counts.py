"""Which static head counts stand beside a grown model, and how the run folders of controls are named."""

from __future__ import annotations

import re
from typing import NamedTuple

GROWN = "grown"
_FOLDER = re.compile(r"([a-z]+(?:-\d+)?)-seed(\d+)")


class CellName(NamedTuple):
    """A control and the seed of its run: the name of a run folder."""

    control: str  # "grown", "permuted", …, or "static-K"
    seed: int

    def __str__(self) -> str:
        return f"{self.control}-seed{self.seed}"


def parse_name(folder: str) -> CellName | None:
    """The cell that a run folder of this name belongs to; None for any other name."""
    match = _FOLDER.fullmatch(folder)
    return CellName(match[1], int(match[2])) if match else None


def static(heads: int) -> str:
    """The name of a static control with `heads` heads in every layer."""
    return f"static-{heads}"


def static_heads(control: str) -> int | None:
    """Heads a layer of a static control; None for a control of another kind."""
    kind, _, heads = control.partition("-")
    return int(heads) if kind == "static" and heads else None


def equal_size(heads: int, layers: int) -> int:
    """Heads a layer of the static model that stands beside `heads` grown heads in all.

    Layers grow differently and a static model is even: rounded up, so that it never has fewer.
    """
    return max(1, -(-heads // layers))


def sweep(top: int) -> list[int]:
    """1, 2, 4, … below `top`, and `top`: the head counts of a static sweep."""
    return [2**power for power in range(top.bit_length()) if 2**power < top] + [top]
