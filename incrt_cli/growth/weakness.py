"""Which head is pruned: the weakest of those that have been weak for long enough (METHOD §3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrt_cli.growth.gate import Prune


class Weakness:
    """Of every head, how many checks it has been weak in a row: √E_h < φ_g. `patience` of them are enough."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._checks: dict[int, int] = {}

    def state(self) -> dict[str, Any]:
        return {"checks": list(self._checks.items())}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._checks = dict(state["checks"])

    def weakest(self, releases: Mapping[int, float], phi_g: float) -> Prune | None:
        """One more check, at which heads that own a plane have `releases` √E_h."""
        for head, release in releases.items():
            self._checks[head] = self._checks.get(head, 0) + 1 if release < phi_g else 0
        ripe = [head for head in releases if self._checks[head] >= self._patience]
        if not ripe:
            return None
        head = min(ripe, key=lambda candidate: releases[candidate])
        return Prune(head, releases[head])

    def spare(self, head: int) -> None:
        """`head` is to have another full patience."""
        self._checks[head] = 0

    def forget(self, head: int) -> None:
        """`head` is gone."""
        self._checks.pop(head, None)
