"""Everything that would go wrong with a data section, found before a run does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from incrt_cli.config.schema import Data, FastaData
from incrt_cli.data.build import build_task
from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.limits import LimitError
from incrt_cli.data.shift import build_later
from incrt_cli.data.task import Task
from incrt_cli.errors import UserError

Say = Callable[[str], None]
_MISSING_VALUES = {"na", "n/a", "nan", "none", "null", "unknown", "unassigned", "?", "-"}
_FEW_TESTED = 5  # records of a class: fewer say next to nothing about it
_SHARE_WORTH_SAYING = 0.05


@dataclass(frozen=True)
class Findings:
    """`problems` would stop a run; `warnings` would not. `task` is absent when nothing could be built."""

    task: Task | None
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def check_data(data: Data, name: str, say: Say) -> Findings:
    """Build the task as a run would; where a limit stops it, once more without, to see the rest."""
    try:
        task = build_task(data, name, say)
    except LimitError as error:
        say(f"PROBLEM found; reading again without that limit to see the rest. {error}")
        return _past_the_limit(_lenient(data), name, say, str(error))
    except UserError as error:
        return Findings(None, [str(error)])
    warnings = warnings_of(task.summary)
    try:
        later = build_later(data, task, say)
    except UserError as error:
        return Findings(task, [str(error)], warnings)
    if later is not None:
        warnings += [f"after the shift: {warning}" for warning in warnings_of(later.summary)]
    return Findings(task, [], warnings)


def _past_the_limit(data: Data, name: str, say: Say, problem: str) -> Findings:
    try:
        task = build_task(data, name, say)
    except LimitError:  # the same one again: nothing joined at all
        return Findings(None, [problem])
    except UserError as error:
        return Findings(None, [problem, str(error)])
    return Findings(task, [problem], warnings_of(task.summary))


def _lenient(data: Data) -> Data:
    limits: dict[str, Any] = {"too_long": "truncate"} if data.too_long == "error" else {}
    if isinstance(data, FastaData):
        limits["min_joined_fraction"] = 0.0
    return data.model_copy(update=limits)


def warnings_of(summary: Mapping[str, Any]) -> list[str]:
    """What a careful reader of the account would stumble over, each in one line."""
    found = [note.removeprefix("warning: ") for note in summary["notes"] if note.startswith("warning: ")]
    return found + _about_records(summary) + _about_classes(summary) + _about_tokens(summary)


def _about_records(summary: Mapping[str, Any]) -> list[str]:
    found = []
    for stage, ledger in summary["records"]["stages"].items():
        for reason, entry in ledger["dropped"].items():
            share = entry["count"] / max(ledger["read"], 1)
            # Metadata without a sequence is how a subset of a large download looks.
            if share > _SHARE_WORTH_SAYING and reason != "no sequence":
                found.append(f"{stage}: {entry['count']:,} of {ledger['read']:,} dropped: {reason}")
    if summary["conflicts"]:
        found.append(f"{summary['conflicts']:,} records equal one that has another label")
    for part, entry in summary["seen_inputs"].items():
        if entry["rows"] > _SHARE_WORTH_SAYING * max(entry["of"], 1):
            found.append(f"{part}: {entry['rows']:,} of {entry['of']:,} inputs also occur in training")
    return found


def _about_classes(summary: Mapping[str, Any]) -> list[str]:
    classes: Mapping[str, Mapping[str, int]] = summary["classes"]
    found = []
    for names, what in (
        ([n for n in classes if n.strip().casefold() in _MISSING_VALUES], "look like missing values"),
        ([n for n in classes if "\n" in n or len(n) > 200], "hold line breaks or are very long"),
        (
            [n for n in classes if classes[n]["test"] < _FEW_TESTED],
            f"have fewer than {_FEW_TESTED} test records",
        ),
    ):
        if names:
            shown = ", ".join(name[:40] for name in names[:EXAMPLES])
            found.append(f"{len(names):,} of {len(classes):,} classes {what}: {shown}")
    left_out = sum(summary["classes_left_out"].values())
    if left_out:
        found.append(f"{len(summary['classes_left_out']):,} small classes are left out: {left_out:,} records")
    return found


def _about_tokens(summary: Mapping[str, Any]) -> list[str]:
    found = []
    for key in ("bases_lost", "tokens_lost"):
        entry = summary.get(key)
        if entry and entry["share"] > _SHARE_WORTH_SAYING:
            found.append(
                f"{key.replace('_', ' ')}: {entry['share']:.1%} ({entry['too_long']:,} records too long)"
            )
    for part, share in summary["unknown_share"].items():
        if share > _SHARE_WORTH_SAYING:
            found.append(f"{part}: {share:.1%} of the tokens are unknown")
    return found
