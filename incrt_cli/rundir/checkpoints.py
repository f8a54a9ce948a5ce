"""Checkpoints of a run: `checkpoints/step-N`, each a folder of tensors, plain data and a mark.

The mark is written last. It is a pure function of the bytes of the other files, in the format of sha256sum,
so that a folder without it is incomplete and one with any other byte in any file is damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrt_cli.errors import UserError
from incrt_cli.rundir import layout
from incrt_cli.rundir.atomic import encode, write_atomic
from incrt_cli.rundir.plain import to_json
from incrt_cli.rundir.trees import join_tree, split_tree

_FILES = (layout.TENSORS, layout.STATE)
FORMAT = 3  # raise it whenever the state changes its parts or their meaning
_ROWS, _FORMAT = "rows", "format"


@dataclass(frozen=True)
class Checkpoint:
    """State at `step`; `rows` are the bytes that each `.jsonl` file held then."""

    step: int
    state: dict[str, Any]
    rows: dict[str, int]


@dataclass(frozen=True)
class Found:
    """The newest checkpoint that can be used, None where there is none; what was passed over is named.

    `damaged`: of those passed over, those that had been complete once.
    """

    checkpoint: Checkpoint | None
    problems: tuple[str, ...]
    damaged: tuple[str, ...]


def write_checkpoint(run: Path, step: int, state: Mapping[str, Any], keep: int, good: int) -> None:
    """Save `state` (see `split_tree`) as `step-N` of the run folder and remove all but the newest `keep`, and
    the newest up to step `good`, the last that was found good: what comes after may be about to diverge.

    The rows of metrics and events are brought to the disk first. Raises UserError when the system refuses to
    write; older checkpoints are then as they were.
    """
    from safetensors.torch import save

    rows = {name: _on_disk(run / name) for name in (layout.METRICS, layout.EVENTS)}
    plain, tensors = split_tree(state)
    text = to_json({_FORMAT: FORMAT, "step": step, _ROWS: rows, "state": plain})
    folder = _folder(run, step)
    _make(folder)
    try:
        contents = {layout.TENSORS: save(tensors), layout.STATE: encode(text)}
        for name in _FILES:
            write_atomic(folder / name, contents[name])
        _sync(folder)
        write_atomic(folder / layout.MARK, _mark(contents))
        _sync(folder)
    except BaseException:
        _remove(folder)
        raise
    for old in _steps(run)[:-keep]:
        if old != newest_step(run, good):
            _remove(_folder(run, old))


def newest_step(run: Path, until: int) -> int | None:
    """Of the newest checkpoint, complete or not, of step `until` or before."""
    return max((step for step in _steps(run) if step <= until), default=None)


def find_checkpoint(run: Path) -> Found:
    """Look through the checkpoints of the run folder `run`, newest first. Nothing is changed."""
    problems: list[str] = []
    damaged: list[str] = []
    for step in reversed(_steps(run)):
        folder = _folder(run, step)
        if not os.path.lexists(folder / layout.MARK):
            problems.append(f"{folder} is passed over: it was never completed")
            continue
        try:
            return Found(_read(run, step), tuple(problems), tuple(damaged))
        except (OSError, ValueError) as error:
            problems.append(f"{folder} is passed over: {error}")
            damaged.append(str(folder))
    return Found(None, tuple(problems), tuple(damaged))


def go_back(run: Path, checkpoint: Checkpoint | None) -> None:
    """Take back what the run wrote after `checkpoint` (None: after it began): rows, checkpoints, torn files.

    Raises UserError when the system refuses.
    """
    for step in _steps(run):
        if checkpoint is None or step > checkpoint.step:
            _remove(_folder(run, step))
    for torn in [*run.glob(".*.tmp"), *run.glob(f"{layout.CHECKPOINTS}/*/.*.tmp")]:
        torn.unlink(missing_ok=True)
    (run / layout.DIVERGENCE).unlink(missing_ok=True)
    for name in (layout.METRICS, layout.EVENTS):
        size = 0 if checkpoint is None else checkpoint.rows[name]
        try:
            if os.path.exists(run / name) or size:
                os.truncate(run / name, size)
        except OSError as error:
            raise UserError(f"cannot write {run / name}: {error.strerror}") from error


def _read(run: Path, step: int) -> Checkpoint:
    """Raises ValueError, saying what is wrong, and OSError."""
    from safetensors.torch import load

    folder = _folder(run, step)
    contents = {name: (folder / name).read_bytes() for name in _FILES}
    # What was checked is what is used: nothing is read twice.
    if (folder / layout.MARK).read_bytes() != _mark(contents):
        raise ValueError(f"its files are not those that {layout.MARK} was written for")
    read = json.loads(contents[layout.STATE])
    if read.get(_FORMAT) != FORMAT:
        raise ValueError("another version of incrt wrote it, and only that one can go on from it")
    if read["step"] != step:
        raise ValueError(f"it is that of step {read['step']}")
    for name, size in read[_ROWS].items():
        present = (run / name).stat().st_size if (run / name).exists() else 0
        if present < size:
            raise ValueError(f"{name} has {present:,} bytes where it had {size:,} at this checkpoint")
    return Checkpoint(read["step"], join_tree(read["state"], load(contents[layout.TENSORS])), read[_ROWS])


def _mark(contents: Mapping[str, bytes]) -> bytes:
    lines = [f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in _FILES]
    return "".join(lines).encode()


def _on_disk(path: Path) -> int:
    """Bytes of a file, all of them on the disk; 0 where there is none."""
    if not path.exists():
        return 0
    _sync(path)
    return path.stat().st_size


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _folder(run: Path, step: int) -> Path:
    return run.absolute() / layout.CHECKPOINTS / f"step-{step}"


def _steps(run: Path) -> list[int]:
    """Of the folders there, ascending."""
    names = [entry.name for entry in (run / layout.CHECKPOINTS).glob("step-*")]
    return sorted(int(name.removeprefix("step-")) for name in names if re.fullmatch(r"step-\d+", name))


def _make(folder: Path) -> None:
    _remove(folder)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {folder}: {error.strerror}") from error


def _remove(folder: Path) -> None:
    # The mark first: what is left of a folder half removed is incomplete, and never taken for damaged.
    with suppress(OSError):
        (folder / layout.MARK).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
