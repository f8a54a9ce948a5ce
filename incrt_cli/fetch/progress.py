"""Lines of progress, few enough for a log."""

from __future__ import annotations

from collections.abc import Callable

_EVERY = 5.0  # seconds


class Progress:
    """Says how much of `name` is there, at most every few seconds; `total` is None when nobody knows."""

    def __init__(
        self, name: str, total: int | None, say: Callable[[str], None], now: Callable[[], float]
    ) -> None:
        self._name, self._total, self._say, self._now = name, total, say, now
        self._last = now()

    def at(self, size: int) -> None:
        if self._now() - self._last < _EVERY:
            return
        self._last = self._now()
        of = f" of {readable(self._total)} ({100 * size / self._total:.0f} %)" if self._total else ""
        self._say(f"{self._name}: {readable(size)}{of}")


def readable(size: int) -> str:
    """Bytes in decimal units: 1,234,567 is '1.2 MB'."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
