"""Reading run folders back: finished, interrupted, damaged, or not run folders at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from incrt_cli.rundir import layout
from incrt_cli.rundir.plain import to_plain

Status = Literal["complete", "incomplete", "foreign"]
_LINES_NAMED = 3


@dataclass(frozen=True)
class Run:
    """A run folder as read; a part that is missing or unreadable is None and named in `problems`.

    `status`: "complete" has a result that says so; "incomplete" was interrupted, diverged or is still
    running; "foreign" is not a run folder of ours (or not a folder).
    """

    path: Path  # absolute
    name: str
    status: Status
    problems: tuple[str, ...]
    config: dict[str, Any] | None = None
    environment: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    prediction: dict[str, Any] | None = None
    events: tuple[dict[str, Any], ...] | None = None
    metrics: tuple[dict[str, Any], ...] | None = None
    result: dict[str, Any] | None = None


def read_run(path: Path, pending_result: Mapping[str, Any] | None = None) -> Run:
    """Read the run folder `path`; never raises for what it holds.

    `pending_result` stands in for `result.json` while the run itself is about to write that file.
    """
    folder = Path(os.path.abspath(path))
    if not os.path.isdir(folder):
        reason = "is not a folder" if os.path.exists(folder) else "does not exist"
        return Run(folder, folder.name, "foreign", (reason,))
    problems: list[str] = []
    config = _read_mapping(folder / layout.CONFIG, problems)
    environment = _read_mapping(folder / layout.ENVIRONMENT, problems)
    if not _is_ours(config, environment):
        reason = f"holds no {layout.CONFIG} or {layout.ENVIRONMENT} of an incrt run"
        return Run(folder, folder.name, "foreign", (reason,))
    parts: dict[str, Any] = {
        "data": _read_mapping(folder / layout.DATA, problems),
        "prediction": _read_mapping(folder / layout.PREDICTION, problems),
        "events": _read_rows(folder / layout.EVENTS, problems),
        "metrics": _read_rows(folder / layout.METRICS, problems),
    }
    result = _read_result(folder / layout.RESULT, pending_result, problems)
    status: Status = "complete" if result and result.get("status") == "complete" else "incomplete"
    return Run(folder, folder.name, status, tuple(problems), config, environment, result=result, **parts)


def find_runs(root: Path) -> list[Path]:
    """Every folder directly under `root` by start time, then name; hidden ones and files are left out.

    A folder of run folders stands for the runs in it. Foreign folders are kept, last, so that whoever
    reads them can name them. An absent `root` is empty.
    """
    return sorted(expand_runs(_folders(root)), key=_start_then_name)


def expand_runs(paths: Iterable[Path]) -> list[Path]:
    """`paths`, where a folder that is no run itself, but holds some, is replaced by those it holds.

    A folder named twice, as overlapping globs do, is one run.
    """
    expanded: dict[str, Path] = {}
    for path in paths:
        runs = [] if _is_run(path) else [inner for inner in _folders(path) if _is_run(inner)]
        for found in sorted(runs, key=_start_then_name) or [path]:
            expanded[os.path.realpath(found)] = found
    return list(expanded.values())


def _folders(root: Path) -> list[Path]:
    try:
        entries = list(root.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if os.path.isdir(entry) and not entry.name.startswith(".")]


def _is_run(folder: Path) -> bool:
    return _is_ours(_read_mapping(folder / layout.CONFIG, []), _read_mapping(folder / layout.ENVIRONMENT, []))


def _start_then_name(folder: Path) -> tuple[bool, str, str]:
    started = (_read_mapping(folder / layout.ENVIRONMENT, []) or {}).get("started_at")
    known = isinstance(started, str)
    return not known, str(started) if known else "", folder.name


def _is_ours(config: dict[str, Any] | None, environment: dict[str, Any] | None) -> bool:
    # A config.yaml alone says little: many programs have one.
    return {"name", "data"} <= (config or {}).keys() or "incrt" in (environment or {})


def _read_result(path: Path, pending: Mapping[str, Any] | None, problems: list[str]) -> dict[str, Any] | None:
    if pending is not None:
        result: dict[str, Any] = to_plain(pending)
        return result
    if not os.path.exists(path):
        problems.append(f"{path.name} is missing: the run has not finished")
        return None
    read = _read_mapping(path, problems)
    if read is not None and read.get("status") != "complete":
        problems.append(f"{path.name} says that the run ended as {read.get('status')!r}")
    return read


def _read_mapping(path: Path, problems: list[str]) -> dict[str, Any] | None:
    text = _read_text(path, problems)
    if text is None:
        return None
    try:
        value = yaml.safe_load(text) if path.suffix == ".yaml" else _parse(text)
    except Exception as error:  # PyYAML raises KeyError, AttributeError and others on odd tags
        reason = (str(error) or type(error).__name__).splitlines()[0]
        problems.append(f"{path.name} is damaged: {reason}")
        return None
    if not isinstance(value, dict):
        problems.append(f"{path.name} is damaged: it holds no mapping")
        return None
    return value


def _read_rows(path: Path, problems: list[str]) -> tuple[dict[str, Any], ...] | None:
    text = _read_text(path, problems)
    if text is None:
        return None
    rows: list[dict[str, Any]] = []
    torn: list[int] = []
    # Split on "\n" alone: `splitlines` would also cut at characters that JSON strings may hold.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        try:
            row = _parse(line)
        except (ValueError, RecursionError):
            row = None
        rows.append(row) if isinstance(row, dict) else torn.append(number)
    if torn:
        shown = ", ".join(map(str, torn[:_LINES_NAMED])) + (", …" if len(torn) > _LINES_NAMED else "")
        problems.append(f"{path.name}: {len(torn)} torn line(s) left out (line {shown})")
    return tuple(rows)


def _read_text(path: Path, problems: list[str]) -> str | None:
    try:
        if not os.path.isfile(path):
            problems.append(f"{path.name} is missing")
            return None
        # A line torn inside a character must not cost the lines before it.
        return path.read_bytes().decode("utf-8", "replace" if path.suffix == ".jsonl" else "strict")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path.name} cannot be read: {error}")
        return None


def _parse(text: str) -> Any:
    # NaN and Infinity are no JSON, but Python reads them; treated as what we write for them.
    return json.loads(text, parse_constant=lambda _: None)
