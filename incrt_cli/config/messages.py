"""What the schema rejects, all of it at once and in plain words."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from incrt_cli.config import keys
from incrt_cli.config.schema import Config
from incrt_cli.config.sources import Origin, Sources
from incrt_cli.config.yaml_lines import KeyPath

_LONGEST = 40  # characters of a value worth repeating


class Problem(NamedTuple):
    """One line for the user; problems sort by their place."""

    origin: Origin
    text: str


class _Finding(NamedTuple):
    """One rejection: `rule` is pydantic's error type, `reason` a validator's own words."""

    path: KeyPath
    rule: str
    reason: str


def validate(sources: Sources) -> Config | list[Problem]:
    """The config, or everything that is wrong with it.

    pydantic stops early: an unknown kind hides the section's other keys, and a wrong value hides the
    rules across keys. So what was rejected is taken out, and the rest is looked at again.
    """
    remaining = copy.deepcopy(sources.values)
    findings: list[_Finding] = []
    removed: set[KeyPath] = set()
    while True:
        try:
            config = Config.model_validate(remaining)
        except ValidationError as error:
            errors = error.errors(include_url=False)
            new = list(dict.fromkeys(_finding(details) for details in errors))
        else:
            return _explain(findings, sources) if findings else config
        findings += [found for found in new if found not in findings and not _echo(found, removed)]
        repaired = [found.path for found in new if _take_out(found, remaining)]
        if not repaired:
            return _explain(findings, sources)
        removed.update(repaired)


def _finding(details: ErrorDetails) -> _Finding:
    path = tuple(part for part in details["loc"] if isinstance(part, str))
    if path[:1] == keys.DATA:
        path = keys.DATA + path[2:]  # pydantic puts the kind between; nobody wrote it there
    if details["type"].startswith("union_tag"):
        path = keys.KIND
    if isinstance(details["loc"][-1], int):
        return _Finding(path, "list", "")  # whichever item it was, the list is what the user wrote
    return _Finding(path, details["type"], str(details.get("ctx", {}).get("error", "")))


def _take_out(found: _Finding, remaining: dict[str, Any]) -> bool:
    """Remove what was rejected, if that can be done; an unknown kind becomes the likeliest one."""
    section = remaining
    for key in found.path[:-1]:
        section = section[key]
    if found.path == keys.KIND:
        section["kind"] = _likeliest_kind(section)
        return True
    rule_across_keys = found.rule == "value_error" and isinstance(section[found.path[-1]], dict)
    if found.rule == "missing" or rule_across_keys:
        return False
    del section[found.path[-1]]
    return True


def _likeliest_kind(section: Mapping[str, Any]) -> str:
    meant = keys.nearest_choice(section.get("kind"), keys.KIND, None)
    return meant or max(keys.kinds(), key=lambda kind: len(keys.kinds()[kind] & section.keys()))


def _echo(found: _Finding, removed: set[KeyPath]) -> bool:
    """Whether only our taking things out, or guessing the kind, brought this finding about."""
    if found.rule == "missing" and found.path in removed:
        return True
    if keys.KIND in removed and found.path[:1] == keys.DATA:
        if found.rule == "extra_forbidden":
            return found.path in keys.valid_keys(None)
        return found.rule == "missing" or found.path == keys.DATA
    return found.rule == "value_error" and any(".".join(path) in found.reason for path in removed)


def _explain(findings: list[_Finding], sources: Sources) -> list[Problem]:
    kind = sources.get(keys.KIND)
    known = kind if isinstance(kind, str) and kind in keys.kinds() else None
    problems = []
    for found in findings:
        # An override may have made a whole unknown section: name the keys as they were written.
        unwritten = found.rule == "extra_forbidden" and found.path not in sources.origins
        for path in sources.below(found.path) if unwritten else [found.path]:
            text = f"{'.'.join(path)}: {_text(found._replace(path=path), sources, known)}"
            problems.append(Problem(sources.origin(path), text))
    return problems


def _text(found: _Finding, sources: Sources, kind: str | None) -> str:
    expected = keys.expected(found.path, kind) if found.rule != "extra_forbidden" else ""
    value = sources.get(found.path)
    if found.rule in ("missing", "union_tag_not_found"):
        return f"required key is missing; expected {expected}"
    if found.rule == "extra_forbidden":
        return f"unknown key{_key_hint(found.path, kind)}"
    if found.rule == "value_error":
        return found.reason if isinstance(value, Mapping) else f"{found.reason}, got {shown(value)}"
    listed = isinstance(value, list) and expected.startswith("a list")
    got = yaml.safe_dump(value, default_flow_style=True).strip()[:_LONGEST] if listed else shown(value)
    return f"expected {expected}, got {got}{_value_hint(found.path, value, kind, expected)}"


def _key_hint(path: KeyPath, kind: str | None) -> str:
    # Of a section below data, its own name decides: data.shift.at belongs to the kinds that have data.shift.
    known = path[1] if path[:1] == keys.DATA and len(path) > 1 else None
    owners = [name for name, own in keys.kinds().items() if known in own]
    if owners and kind not in owners:
        return f"; it belongs to data.kind {' or '.join(owners)}, not {kind}"
    if "." in path[-1]:
        return "; dotted keys are for the command line, in a file write the key below its section"
    nearest = keys.nearest_key(path, kind)
    return f"; did you mean {'.'.join(nearest)}?" if nearest else ""


def _value_hint(path: KeyPath, value: object, kind: str | None, expected: str) -> str:
    nearest = keys.nearest_choice(value, path, kind)
    if nearest:
        return f"; did you mean {nearest}?"
    unquoted = expected.startswith("text") and isinstance(value, (bool, int, float))
    return "; put it in quotes to make it text" if unquoted else ""


def shown(value: object) -> str:
    """A value as a message quotes it."""
    if isinstance(value, Mapping):
        return "a section"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else value[:_LONGEST] + "…")
    return yaml.safe_dump(value).split("\n")[0][:_LONGEST]  # as the file spells it: true, .inf
