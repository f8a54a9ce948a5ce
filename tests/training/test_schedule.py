"""The learning rate is a pure function of the step."""

from __future__ import annotations

import pytest

from incrt_cli.training.schedule import learning_rate, rate_shares


def test_warm_up_is_linear_then_a_cosine_falls_to_zero() -> None:
    rates = [learning_rate(step, 100, 1.0, 0.1) for step in range(100)]
    assert rates[:10] == pytest.approx([(i + 1) / 11 for i in range(10)])
    assert rates[10] == max(rates) == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert all(earlier > later for earlier, later in zip(rates[10:], rates[11:], strict=False))
    assert 0.0 < rates[99] < 0.001


@pytest.mark.parametrize("decay_fraction", [0.1, 1.0])
@pytest.mark.parametrize("total", [1, 2, 3])
def test_the_shortest_runs_have_positive_rates(total: int, decay_fraction: float) -> None:
    assert all(learning_rate(step, total, 1.0, 0.5, decay_fraction) > 0.0 for step in range(total))


def test_a_rate_that_is_held_falls_over_the_last_part_alone() -> None:
    rates = [learning_rate(step, 100, 1.0, 0.1, decay_fraction=0.4) for step in range(100)]
    assert set(rates[10:61]) == {1.0}
    assert rates[80] == pytest.approx(0.5) and rates[99] < 0.01


def test_warm_up_and_decay_may_not_overlap() -> None:
    rates = [learning_rate(step, 100, 1.0, 0.5, decay_fraction=0.9) for step in range(100)]
    assert rates == [learning_rate(step, 100, 1.0, 0.5) for step in range(100)]


def test_a_rate_may_be_held_to_the_end() -> None:
    assert learning_rate(99, 100, 1.0, 0.1, decay_fraction=0.0) == 1.0


def test_the_share_of_the_rate_that_is_spent_goes_from_nothing_to_all() -> None:
    shares = rate_shares(100, 0.1, 0.4)
    assert len(shares) == 101 and shares[0] == 0.0 and shares[-1] == pytest.approx(1.0)
    rates = [learning_rate(step, 100, 3.0, 0.1, 0.4) for step in range(100)]
    assert shares[30] == pytest.approx(sum(rates[:30]) / sum(rates))
