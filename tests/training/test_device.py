"""What a process is set to before anything is computed in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from incrt_cli.config.schema import TrainSection
from incrt_cli.errors import UserError
from incrt_cli.training.device import set_up_process


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("wanted", [True, False])
def test_determinism_is_what_the_config_says_whatever_ran_before(wanted: bool) -> None:
    torch.use_deterministic_algorithms(not wanted)
    set_up_process(TrainSection(deterministic=wanted, device="cpu"), seed=0)
    assert torch.are_deterministic_algorithms_enabled() is wanted


def test_the_seed_decides_what_is_drawn() -> None:
    def draw(seed: int) -> list[float]:
        set_up_process(TrainSection(device="cpu"), seed)
        drawn: list[float] = torch.randn(4).tolist()
        return drawn

    assert draw(3) == draw(3) != draw(4)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_told() -> None:
    with pytest.raises(UserError, match=r"train\.device: cuda"):
        set_up_process(TrainSection(device="cuda"), seed=0)
