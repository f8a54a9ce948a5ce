"""How many events a layer has had, and for how long it has been quiet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Tally:
    """`quiet_checks`: checks since the last event, which was at `last_event_step`."""

    def __init__(self) -> None:
        self.events = 0
        self.last_event_step: int | None = None
        self.quiet_checks = 0

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)

    def check(self) -> None:
        """One more look, of which an event may come yet."""
        self.quiet_checks += 1

    def event(self, step: int) -> None:
        self.events += 1
        self.last_event_step = step
        self.quiet_checks = 0
