"""The runs that stand beside a head count (METHOD §5, controls), as configs: nothing here trains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incrt_cli.config.schema import Config
from incrt_cli.controls.counts import GROWN, CellName, equal_size, static, sweep
from incrt_cli.errors import UserError

# control -> the section and the settings in which it differs from the grown run
_GROWING: Mapping[str, tuple[str, dict[str, Any]]] = {
    GROWN: ("gate", {}),
    "permuted": ("data", {"permute_labels": True}),
    "frozen": ("train", {"frozen": True}),
    "random": ("gate", {"birth": "random"}),
    **{name: ("gate", {"variant": name}) for name in ("significance", "paper", "notebook")},
}
_MOST_SEEDS = 1000  # a slip of the keyboard must not plan for days


@dataclass(frozen=True)
class Cell:
    """One run: a control at one seed."""

    name: CellName
    config: Config


def plan(config: Config, seeds: Sequence[int], grown: Mapping[int, int]) -> list[Cell]:
    """Every cell that can be named by now; `grown` holds the final heads of finished grown runs by seed.

    Static models wait for grown ones, apart from the one with a single head: their largest count is that
    of the grown run. The sweep has the same counts at every seed. A control equal to the config itself is
    left out. Raises UserError for a config that does not grow.
    """
    if not config.gate.enabled:
        raise UserError("gate.enabled is false: controls stand beside a model that grows its heads")
    sizes = {seed: equal_size(heads, config.model.layers) for seed, heads in grown.items()}
    cells = [
        Cell(CellName(control, seed), changed)
        for control in _GROWING
        for seed in seeds
        if _possible(config, control)
        and (
            (changed := _growing(config, control, seed)) != _growing(config, GROWN, seed) or control == GROWN
        )
    ]
    counts = dict.fromkeys((heads, seed) for heads in sweep(max(sizes.values(), default=1)) for seed in seeds)
    counts |= dict.fromkeys((heads, seed) for seed, heads in sizes.items())
    return cells + [
        Cell(CellName(static(heads), seed), _static(config, heads, seed)) for heads, seed in counts
    ]


def parse_seeds(text: str) -> list[int]:
    """Seeds of `3`, `0..4` (both ends included) or `0,2,5..7`. Raises UserError for anything else."""
    seeds = list(dict.fromkeys(seed for part in text.split(",") for seed in _range(part.strip(), text)))
    if len(seeds) > _MOST_SEEDS:
        raise UserError(f"--seeds {text}: {len(seeds)} seeds; at most {_MOST_SEEDS} at a time")
    return seeds


def _range(part: str, text: str) -> Iterator[int]:
    match = re.fullmatch(r"(\d{1,10})(?:\.\.(\d{1,10}))?", part)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not first <= last < 2**32:
        raise UserError(f"--seeds {text}: expected a seed, a range or a list of them, such as 0..4 or 0,2")
    yield from range(first, min(last, first + _MOST_SEEDS) + 1)


def _possible(config: Config, control: str) -> bool:
    # Its reserved records would be of the first population alone: prepare refuses that.
    return control != "significance" or getattr(config.data, "shift", None) is None


def _growing(config: Config, control: str, seed: int) -> Config:
    section, changes = _GROWING[control]
    changed = getattr(config, section).model_copy(update=changes)
    return config.model_copy(update={"seed": seed, section: changed})


def _static(config: Config, heads: int, seed: int) -> Config:
    gate = config.gate.model_copy(update={"enabled": False})
    model = config.model.model_copy(update={"heads": heads})
    # The baseline reads data and labels alone: it stands beside the grown run already.
    return config.model_copy(update={"seed": seed, "gate": gate, "model": model, "baseline": False})
