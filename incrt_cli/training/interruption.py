"""Signals to a training run: stop after this step, save after this step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from incrt_cli.errors import IncrtError


@dataclass
class Requests:
    """`stop`: the name of the signal that asked for it; `save`: a checkpoint is asked for."""

    stop: str | None = None
    save: bool = False


class StoppedError(IncrtError):
    """Training stopped because it was asked to; its checkpoint is complete."""

    exit_code = 130


@contextmanager
def listening() -> Iterator[Requests]:
    """Take SIGINT and SIGTERM as requests to stop, SIGUSR1 as one to save; the old handlers come back after.

    A second request to stop raises KeyboardInterrupt at once. Outside the main thread nothing is installed.
    """
    requests = Requests()
    if threading.current_thread() is not threading.main_thread():
        yield requests
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if requests.stop is not None:
            raise KeyboardInterrupt
        requests.stop = signal.Signals(number).name

    def save(number: int, frame: FrameType | None) -> None:
        requests.save = True

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop, signal.SIGUSR1: save}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            # None stands for a handler that was not set by Python, and cannot be set again from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
