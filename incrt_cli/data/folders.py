"""A folder that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrt_cli.errors import UserError

_ATTEMPTS = 3


@contextmanager
def atomic_folder(home: Path, is_good: Callable[[], bool]) -> Iterator[Path]:
    """Yield an empty folder beside `home`; on success rename it to `home`, else remove it.

    A `home` that another process made meanwhile is kept when `is_good()`, and replaced otherwise.
    Raises UserError when the parent folder cannot be written.
    """
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    except OSError as error:
        raise UserError(f"cannot write to {home.parent}: {error.strerror}. Set data.cache_dir.") from error
    try:
        yield temporary
        _put(temporary, home, is_good)
    except OSError as error:
        raise UserError(f"cannot write {home}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put(temporary: Path, home: Path, is_good: Callable[[], bool]) -> None:
    temporary.chmod(0o755)  # mkdtemp's folders are the user's alone
    damaged = temporary.with_name(temporary.name + "-damaged")
    for attempt in range(_ATTEMPTS):
        try:
            os.rename(temporary, home)
            return
        except OSError:
            if is_good():
                return
            if attempt == _ATTEMPTS - 1:
                raise
        # A full folder cannot be renamed over; another process may be moving the same one away.
        with suppress(FileNotFoundError):
            os.rename(home, damaged)
        shutil.rmtree(damaged, ignore_errors=True)
