"""One process a run folder: two that train in it would mix their rows."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrt_cli.errors import UserError


@contextmanager
def alone_in(run: Path) -> Iterator[None]:
    """Hold the folder `run`; the system lets go of it when the process ends, however it does.

    Raises UserError where another process holds it. Where a file system knows no locks, nothing is held.
    """
    try:
        descriptor = os.open(run, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"cannot read the run folder {run}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise UserError(f"{run}: another process is training this run now") from error
    except OSError:
        pass
    try:
        yield
    finally:
        os.close(descriptor)
