"""Batches that a thread makes are those that would have been made without it, and the thread always ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import torch

from incrt_cli.config.load import load_config
from incrt_cli.errors import DivergedError
from incrt_cli.report.render import summarise_run
from incrt_cli.training.ahead import depth_for, made_ahead
from incrt_cli.training.progress import Silent, Status
from incrt_cli.training.run import train
from tests.training.test_resume import BASE
from tests.training.undisturbed import differences

SETTINGS = ("train.epochs=2", "gate.max_heads=3")


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> object:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


class Maker:
    """Doubles numbers, as a copy to a device would: not at once, and elsewhere."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.threads: set[int] = set()

    def __call__(self, item: int) -> int:
        time.sleep(0.001)
        if item == 5:
            raise OSError("item 5")
        self.threads.add(threading.get_ident())
        self.made.append(item)
        return 2 * item

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.made) < count and time.monotonic() < deadline:
            time.sleep(0.001)


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_everything_comes_once_and_in_order(depth: int) -> None:
    make = Maker()
    assert list(made_ahead(make, range(5), depth)) == [0, 2, 4, 6, 8]
    assert make.made == [0, 1, 2, 3, 4]
    assert make.threads == {threading.get_ident()} if depth == 0 else len(make.threads) == 1


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_it_is_as_far_ahead_as_it_may_be_and_no_further(depth: int) -> None:
    make = Maker()
    with closing(made_ahead(make, range(5), depth)) as items:
        next(items)
        make.wait_for(1 + depth)
        time.sleep(0.02)
        assert len(make.made) == 1 + depth


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_an_error_comes_where_its_item_would_have_come(depth: int) -> None:
    items, found = made_ahead(Maker(), range(8), depth), []
    with pytest.raises(OSError, match="item 5"):
        for item in items:
            found.append(item)
    assert found == [0, 2, 4, 6, 8]


def test_only_cuda_is_worth_a_thread() -> None:
    assert depth_for(torch.device("cpu")) == 0 < depth_for(torch.device("cuda"))


class Ending(Silent):
    """Ends a run at step 7."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end

    def step(self, status: Status) -> None:
        if status.step == 7:
            self._end()


def _interrupt() -> None:
    raise KeyboardInterrupt


def _train(folder: Path, reporter: Silent, *overrides: str) -> Path:
    return train(load_config(None, [*SETTINGS, *overrides], BASE), folder, reporter, summarise_run)


def test_a_run_reads_the_same_with_a_thread_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = _train(tmp_path / "alone", Silent())
    monkeypatch.setattr("incrt_cli.training.loop.depth_for", lambda device: 2)
    during: set[int] = set()
    ahead = _train(tmp_path / "ahead", Ending(lambda: during.add(threading.active_count())))
    assert differences(alone, ahead) == []
    assert during == {threading.active_count() + 1}


@pytest.mark.parametrize("how", ["interrupted", "diverged"])
def test_the_thread_ends_with_a_run_that_ends_early(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incrt_cli.training.loop.depth_for", lambda device: 2)
    if how == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            _train(tmp_path / "run", Ending(_interrupt))
    else:
        with pytest.raises(DivergedError):
            _train(tmp_path / "run", Silent(), "train.learning_rate=1e30", "train.warmup_fraction=0")
