"""What `gate.variant` stands for: a rule of growth and the head that it gives birth to."""

from __future__ import annotations

import torch

from incrt_cli.config.schema import GateSection
from incrt_cli.growth.birth import newborn_head, random_plane, unaligned_head
from incrt_cli.growth.gate import Gate, Grow
from incrt_cli.growth.paper_gate import PaperGate
from incrt_cli.growth.probe import TaskProbe
from incrt_cli.growth.significance_gate import SignificanceGate
from incrt_cli.model.head_bank import HeadBank, HeadWeights


def build_gate(
    settings: GateSection, layer: int, width: int, generator: torch.Generator, probe: TaskProbe | None
) -> Gate:
    """The gate of layer number `layer`; `probe` is there exactly when the variant asks the task."""
    if probe is not None:
        return SignificanceGate(settings, layer, width, generator, probe)
    return PaperGate(settings, layer, width, generator, captured=1 if settings.variant == "notebook" else 2)


def build_newborn(
    settings: GateSection, decision: Grow, bank: HeadBank, tokens: float, generator: torch.Generator
) -> HeadWeights:
    """The head that `decision` adds to `bank`; `tokens` is the mean sequence length."""
    widths = (bank.head_width, bank.value_width)
    if settings.variant == "notebook":
        return unaligned_head(bank.width, *widths, tokens, generator)
    plane = random_plane(bank.width, generator) if settings.birth == "random" else decision.plane
    balance = decision.balance if settings.operator else None
    return newborn_head(plane, *widths, tokens, generator, settings.birth_norm, balance)
