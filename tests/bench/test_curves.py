"""Exponents of curves whose law is known, memory that is, and the runs that are compared."""

from __future__ import annotations

import pytest

from incrt_cli.bench.curves import exponent
from incrt_cli.bench.memory import in_child
from incrt_cli.bench.runs import runs, seconds_to
from incrt_cli.bench.subjects import Shape
from incrt_cli.config.schema import TrainSection
from tests.bench.small import small


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_a_power_law_has_its_exponent(power: float) -> None:
    xs = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert exponent(xs, [3e-3 * x**power for x in xs]) == pytest.approx(power, abs=1e-9)


def test_the_exponent_is_of_the_last_half_alone() -> None:
    # A fixed cost hides the law where x is small.
    assert exponent([1, 2, 4, 8], [5.0, 5.0, 1.0, 2.0]) == pytest.approx(1.0)
    assert exponent([1, 2, 4], [7.0, 1.0, 4.0]) == pytest.approx(2.0)


def test_a_step_takes_at_least_its_attention_weights() -> None:
    shape = Shape(batch=16, tokens=64, width=32, head_width=8, heads=32, classes=2)
    weights = shape.width * 4 * shape.head_width * shape.heads  # and as many gradients and two moments
    queries = shape.batch * shape.tokens * 3 * shape.head_width * shape.heads
    least = 4 * (4 * weights + queries) / 2**20
    found = in_child(shape, TrainSection(threads=1, device="cpu"), seed=0)
    assert least < found < 100 * least


def test_the_static_run_has_the_heads_that_the_growing_one_ended_with() -> None:
    found = runs(small()).figures
    run, blocks = found["run"], found["run"]["blocks"]
    counts = [block["heads"] for block in blocks]
    assert run["static_heads"] == run["growing_heads"] == counts[-1] > 1
    assert counts == sorted(counts) and [block["step"] for block in blocks] == list(range(3, 61, 3))
    assert sum(block["growing_seconds"] for block in blocks) == pytest.approx(run["growing_seconds"])
    assert found["run_ratio"] == pytest.approx(run["growing_seconds"] / run["static_seconds"])


def test_a_run_of_few_steps_has_no_block_without_one() -> None:
    found = runs(small("train.epochs=0.5")).figures["run"]
    steps = [block["step"] for block in found["blocks"]]
    assert steps == list(range(1, len(steps) + 1)) and 1 < len(steps) < 20


@pytest.mark.parametrize(("step", "seconds"), [(0, 0.0), (5, 1.0), (10, 2.0), (15, 4.0), (20, 6.0)])
def test_time_to_a_step_is_that_of_the_blocks_before_it_and_a_share_of_its_own(
    step: int, seconds: float
) -> None:
    blocks = [{"step": 10, "growing_seconds": 2.0}, {"step": 20, "growing_seconds": 4.0}]
    assert seconds_to(step, blocks) == pytest.approx(seconds)
