"""How often and how soon to ask again, and how far apart requests to one host must be."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from incrt_cli.errors import UserError
from incrt_cli.fetch.problems import Retryable

PAUSES = {"ncbi.nlm.nih.gov": 0.34}  # seconds; NCBI asks for at most three requests a second
_FIRST, _LONGEST = 1.0, 60.0  # seconds of backoff
_LONGEST_ASKED = 300.0  # beyond that a person had better come back later
_PROGRESS = 1 << 20  # bytes after which a server that keeps breaking off has earned new patience


class Clock(NamedTuple):
    """Time as the downloader sees it; tests pass one that does not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random  # in [0, 1)


class Patience:
    """Bounded attempts at one file with exponential, jittered waits in between."""

    def __init__(self, url: str, attempts: int, clock: Clock, size: int) -> None:
        self._url, self._attempts, self._clock = url, attempts, clock
        self._furthest = size
        self.failures = 0

    def wait_after(self, problem: Retryable, size: int) -> float:
        """Seconds to wait before the next attempt; `size` is how many bytes are there by now.

        Raises UserError when the attempts are used up or the server wants to be left alone for long.
        """
        # A file of 500 GB may need many connections: only attempts that bring nothing are counted.
        self.failures = 1 if size >= self._furthest + _PROGRESS else self.failures + 1
        self._furthest = max(self._furthest, size)
        if self.failures >= self._attempts:
            raise UserError(
                f"{self._url}: given up after {self.failures} attempts: {problem}.\n"
                "What came so far is kept; the same command goes on from there."
            )
        if problem.wait is None:
            longest = min(_LONGEST, _FIRST * 2.0 ** (self.failures - 1))
            return longest * (0.5 + self._clock.jitter() / 2)
        if problem.wait > _LONGEST_ASKED:
            raise UserError(
                f"{self._url}: {problem}, and asks to wait {problem.wait / 60:.0f} minutes: try again then"
            )
        return problem.wait


class Pace:
    """Keeps requests to the hosts of `pauses` (host or its parent domain → seconds) apart."""

    def __init__(self, pauses: Mapping[str, float], clock: Clock) -> None:
        self._pauses, self._clock = pauses, clock
        self._last: dict[str, float] = {}

    def wait(self, host: str) -> None:
        """Call before each request."""
        for domain, pause in self._pauses.items():
            if host == domain or host.endswith(f".{domain}"):
                if domain in self._last:
                    rest = self._last[domain] + pause - self._clock.now()
                    if rest > 0:
                        self._clock.sleep(rest)
                self._last[domain] = self._clock.now()
