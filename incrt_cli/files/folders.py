"""Folders that appear whole or not at all, and temporary ones that no killed process leaves for ever."""

from __future__ import annotations

import os
import re
import shutil
import socket
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
    with temporary_folder(home.parent, home.name) as temporary:
        try:
            yield temporary
            _put(temporary, home, is_good)
        except OSError as error:
            raise UserError(f"cannot write {home}: {error.strerror or error}") from error


@contextmanager
def temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """An empty folder `.name-…` in `parent`, removed at the end; what dead processes of this host left
    under that name is removed first. Raises UserError when `parent` cannot be written.
    """
    prefix = f".{name}-{_host()}-"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _sweep(parent, prefix)
        temporary = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))
    except OSError as error:
        raise UserError(f"cannot write to {parent}: {error.strerror}. Set data.cache_dir.") from error
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _host() -> str:
    """This host and its space of process ids: containers may share a host's name and a folder."""
    namespace = ""
    with suppress(OSError):
        namespace = "".join(re.findall(r"\d+", os.readlink("/proc/self/ns/pid")))
    return f"{socket.gethostname()}-{namespace}"


def _sweep(parent: Path, prefix: str) -> None:
    for path in parent.iterdir():
        if not path.name.startswith(prefix):
            continue
        process = path.name.removeprefix(prefix).partition("-")[0]
        if process.isdecimal() and not _is_running(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's, or no process id at all: not ours to judge
    return True


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
