"""A fresh folder for every run, also when several start at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from incrt_cli.errors import UserError
from incrt_cli.rundir.layout import EVENTS

_NAMED = 3  # how many of a folder's entries a message lists


def create_run_folder(run_dir: Path | None, name: str, root: Path) -> Path:
    """The absolute path of a new folder, claimed for one run.

    `run_dir` is used if it is absent or empty; without it the first free one of `root/name`,
    `root/name-2`, `root/name-3`, … Raises UserError for a folder that is in use or cannot be made.
    """
    if run_dir is None:
        return _numbered(name, root.absolute())
    folder = run_dir.absolute()
    _refuse_used(folder)
    _make(folder)
    _claim(folder)
    return folder


def _numbered(name: str, root: Path) -> Path:
    _make(root)
    for folder in _candidates(name, root):
        try:
            folder.mkdir()  # atomic: of several processes one gets each name
        except FileExistsError:
            continue
        except OSError as error:
            raise _cannot_make(folder, error) from error
        _claim(folder)
        return folder
    raise AssertionError("the candidates never end")


def _candidates(name: str, root: Path) -> Iterator[Path]:
    yield root / name
    for number in count(2):
        yield root / f"{name}-{number}"


def _refuse_used(folder: Path) -> None:
    try:
        present = sorted(entry.name for entry in folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise UserError(f"the run folder {folder} is, or lies below, a file; give another folder") from error
    except OSError as error:
        raise UserError(f"cannot read the run folder {folder}: {error.strerror}") from error
    if present:
        shown = ", ".join(present[:_NAMED]) + (", …" if len(present) > _NAMED else "")
        raise UserError(
            f"the run folder {folder} is not empty ({len(present)} entries: {shown}); "
            "give another folder or remove it first"
        )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_make(folder, error) from error


def _claim(folder: Path) -> None:
    """Start the (still empty) events file; only one process can, and none in a read-only folder."""
    try:
        (folder / EVENTS).touch(exist_ok=False)
    except FileExistsError as error:
        raise UserError(f"another run has just taken the folder {folder}; give another folder") from error
    except OSError as error:
        raise UserError(f"cannot write in the run folder {folder}: {error.strerror}") from error


def _cannot_make(folder: Path, error: OSError) -> UserError:
    return UserError(f"cannot make the folder {folder}: {error.strerror}; give another with --run-dir")
