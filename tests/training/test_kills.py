"""SIGKILL at random moments of a whole process; `make torture` does it fifty times."""

from __future__ import annotations

import pytest

from tests.kill_and_resume import Torture
from tests.training.undisturbed import differences

KILLS = 3


@pytest.fixture(scope="module")
def torture(tmp_path_factory: pytest.TempPathFactory) -> Torture:
    return Torture(
        tmp_path_factory.mktemp("torture"), 0, "seed=3", "train.epochs=5", "train.learning_rate=0.01"
    )


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_as_if_left_alone(torture: Torture) -> None:
    whole = torture.leave_alone()
    while torture.kills < KILLS:
        assert differences(whole, torture.finish_one(KILLS)) == []
