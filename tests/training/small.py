"""A run that takes a second, with heads born by either gate, and someone who hears what it says."""

from __future__ import annotations

from typing import Any

from incrt_cli.training.progress import Silent

SMALL: dict[str, Any] = {
    "name": "small",
    "baseline": False,
    "data": {"kind": "dial", "lookups": 3, "examples": 200},
    "model": {"width": 16, "head_width": 4, "value_width": 4, "ffn_multiplier": 2.0},
    "gate": {
        "calibration_batches": 2, "check_every": 2, "settle": 4, "critical_t": 0.001, "solved": 0.0,
        "progress": 0.9, "until": 0.9,
    },
    "train": {
        "epochs": 4.0, "batch_size": 32, "learning_rate": 0.01, "device": "cpu", "threads": 1,
        "checkpoint_every": 1.0,
    },
}  # fmt: skip


class Ears(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)
