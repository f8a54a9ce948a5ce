"""The rows that a run's metrics get at a check and at an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from incrt_cli.growth.records import Check
from incrt_cli.training.complexity import complexity_row
from incrt_cli.training.monitor import Look
from incrt_cli.training.prepare import Prepared


def check_row(check: Check, rate_spent: float) -> dict[str, Any]:
    """`rate_spent`: how much of the learning rate of all steps is spent by then."""
    return {"kind": "check", **asdict(check), "rate_spent": rate_spent}


def evaluation_rows(
    prepared: Prepared,
    looks: Sequence[Look],
    population: int,
    place: Mapping[str, Any],
    running: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """One of each of `looks`, and that of the model's complexity where the config asks for it.

    `population`: the number of the one that is trained on. `place`: step and epoch; `running`: what training
    itself has to say since the last evaluation.
    """
    heads = sum(prepared.model.head_counts)
    for look in looks:
        yield {"kind": "evaluation", **place, **look.row(), "heads": heads, **running}
    if prepared.config.train.complexity:
        present, train = looks[population], prepared.tasks[population].splits["train"]
        validation = present.result if present.split == "validation" else None
        yield {**complexity_row(prepared, train, validation), **place}
