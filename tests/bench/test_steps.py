"""A step with the gate and one without differ in the gate alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from incrt_cli.bench.drive import Driven
from incrt_cli.bench.measurement import Context
from incrt_cli.bench.rate import step_operations
from incrt_cli.bench.steps import QUIET, WITH, WITHOUT, asking_runs, block_of, gate_runs
from incrt_cli.bench.subjects import Shape, random_model
from incrt_cli.config.schema import GateSection, ModelSection
from tests.bench.small import small


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        (GateSection(variant="paper"), 100),
        (GateSection(variant="paper", check_every=6, observe_every=4, certify_every=1), 12),
    ],
)
def test_a_block_holds_every_clock_of_the_gate_a_whole_number_of_times(
    settings: GateSection, steps: int
) -> None:
    assert block_of(settings) == steps


def _begun(context: Context, variant: str) -> tuple[dict[str, Driven], int]:
    """The runs of `variant` after some looks, and how many steps that took."""
    if variant == "significance":
        runs, steps = asking_runs(context), 40
    else:
        runs, size = gate_runs(context, variant, blocks=2)
        steps = 2 * size
    for run in runs.values():
        run.loop.run(steps)
    return runs, steps


@pytest.mark.parametrize("variant", ["paper", "significance"])
def test_runs_keep_their_size_and_read_the_same_rows(variant: str) -> None:
    context = small()
    runs, steps = _begun(context, variant)
    assert set(runs) - {QUIET} == {WITH, WITHOUT} and (QUIET in runs) == (variant == "paper")
    assert len({run.heads for run in runs.values()}) == 1
    for step in range(steps):
        one, other = (runs[name].loop.stream.rows(step) for name in (WITH, WITHOUT))
        assert np.array_equal(one[1], other[1]) and np.array_equal(one[0].records, other[0].records)
    looks = {name: [row for row in run.notes.rows if row["kind"] == "check"] for name, run in runs.items()}
    assert len(looks[WITH]) >= 2 and not looks[WITHOUT]
    # Only the evaluation before the first step: none lies in a block that is timed after the warm-up.
    assert all(
        [r["step"] for r in run.notes.rows if r["kind"] == "evaluation"] == [0] for run in runs.values()
    )
    assert not any(run.notes.events for run in runs.values())


def test_trackers_of_a_gate_that_asks_for_nothing_are_seldom_confirmed() -> None:
    runs, size = gate_runs(small(), "paper", blocks=2)
    exact = {}
    for name in (WITH, QUIET):
        runs[name].loop.run(2 * size)
        exact[name] = sum(row["exact"] for row in runs[name].notes.rows if row["kind"] == "check")
    assert exact[QUIET] < exact[WITH]


def test_operations_are_those_that_torch_counts() -> None:
    shape = Shape(batch=2, tokens=10, width=16, head_width=4, heads=3, classes=2)
    model, tokens = random_model(shape), torch.ones(2, 10, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter:
        model(tokens, None)
    settings = ModelSection(width=16, head_width=4, value_width=4, heads=3)
    readout = 2 * shape.batch * shape.width * shape.classes
    attention = 2 * 2 * 10**2 * 3 * (4 + 4)  # which torch's counter leaves out on a CPU
    counted = counter.get_total_flops() - readout
    assert step_operations(settings, np.array([7, 10])) in (3 * counted, 3 * (counted + attention))
