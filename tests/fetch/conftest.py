"""A server, a clock that does not wait, and a downloader that uses both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from incrt_cli.fetch.download import Downloader
from incrt_cli.fetch.retry import PAUSES, Clock
from tests.fetch.server import Site, serving


class Bench:
    """`slept` are the seconds that would have been waited, `said` the lines of progress."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []
        self.said: list[str] = []
        self.clock = Clock(now=lambda: self.time, sleep=self._sleep, jitter=lambda: 0.0)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def downloader(
        self, *, timeout: float = 10.0, attempts: int = 4, pauses: Mapping[str, float] = PAUSES
    ) -> Downloader:
        return Downloader(
            self.said.append, attempts=attempts, timeout=timeout, clock=self.clock, pauses=pauses
        )


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return Bench()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as running:
        yield running
