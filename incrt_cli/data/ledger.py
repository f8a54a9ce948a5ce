"""Accounts of records: what was read is what was kept and what was dropped, with reasons."""

from __future__ import annotations

from typing import Any

EXAMPLES = 3


class Ledger:
    """Counts one stage. `read` and `kept` are counted apart from the drops, so that they can be checked."""

    def __init__(self) -> None:
        self.read = 0
        self.kept = 0
        self.dropped: dict[str, dict[str, Any]] = {}

    def drop(self, reason: str, example: str, count: int = 1) -> None:
        entry = self.dropped.setdefault(reason, {"count": 0, "examples": []})
        entry["count"] += count
        if len(entry["examples"]) < EXAMPLES and example not in entry["examples"]:
            entry["examples"].append(example)

    def as_dict(self) -> dict[str, Any]:
        """JSON-able: read, kept and, by reason, dropped. Raises AssertionError when a record is missing."""
        # A record that vanished unseen would make every later share wrong.
        lost = sum(entry["count"] for entry in self.dropped.values())
        if self.read != self.kept + lost:
            raise AssertionError(f"read {self.read} records, kept {self.kept}, dropped {lost}")
        return {"read": self.read, "kept": self.kept, "dropped": self.dropped}
