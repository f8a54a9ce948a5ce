"""Config files and KEY=VALUE overrides to one validated `Config`, and back to YAML. Reads no data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from incrt_cli.config.messages import Problem, shown, validate
from incrt_cli.config.schema import Config
from incrt_cli.config.sources import BASE, COMMAND_LINE, FILE, Origin, Sources
from incrt_cli.config.yaml_lines import Document, YamlError, dump, parse
from incrt_cli.errors import UserError

_LARGEST = 1 << 20  # bytes; a data file given by mistake must not be parsed for minutes


def load_config(
    path: Path | None, overrides: Sequence[str] = (), base: Mapping[str, Any] | None = None
) -> Config:
    """The config of a YAML file with `KEY=VALUE` overrides: defaults < base < file < command line.

    Mappings merge key by key, and a later override beats an earlier one. `base` holds plain values,
    such as a stored config's. Raises UserError with one line for every problem, in the order of the
    lines they are on.
    """
    sources = Sources(Origin(COMMAND_LINE, 0, "command line"))
    problems: list[Problem] = []
    if base is not None:
        sources.put((), base, {}, Origin(BASE, 0, "base config"))
    if path is not None:
        problems += _add_file(sources, path)
    for number, override in enumerate(overrides, start=1):
        problems += _add_override(sources, override, Origin(COMMAND_LINE, number, "command line"))
    result = validate(sources)
    if isinstance(result, list):
        problems += result
    if isinstance(result, list) or problems:
        raise UserError("\n".join(f"{problem.origin}: {problem.text}" for problem in sorted(problems)))
    return result


def dump_config(config: Config) -> str:
    """Every key with its value, as YAML in the schema's order; `load_config` reads the same back."""
    return dump(config.model_dump())


def _add_file(sources: Sources, path: Path) -> list[Problem]:
    where = os.path.abspath(path)
    document = _parse_file(where)
    if not isinstance(document.value, dict):
        found = "an empty file" if document.value is None else "a list or a single value"
        raise UserError(f"{where}: expected a config (keys and values, such as `name: demo`), got {found}")
    origins = {key: Origin(FILE, line, where) for key, line in document.lines.items()}
    sources.put((), document.value, origins, Origin(FILE, 1, where))
    return [
        Problem(Origin(FILE, line, where), f"{'.'.join(key)}: duplicate key; first given on line {first}")
        for key, first, line in document.repeats
    ]


def _parse_file(where: str) -> Document:
    try:
        return parse(_read(where))
    except YamlError as error:
        place = where if error.line is None else f"{where}:{error.line}"
        raise UserError(f"{place}: not readable as YAML: {error}") from error


def _read(where: str) -> str:
    try:
        with open(where, "rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError as error:
        raise UserError(f"{where}: no such file{_similar_file(where)}") from error
    except IsADirectoryError as error:
        raise UserError(f"{where}: is a folder; expected a YAML config file") from error
    except OSError as error:
        raise UserError(f"{where}: cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise UserError(f"{where}: larger than 1 MiB; expected a YAML config file, not a data file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{where}:{line}: not UTF-8 text; expected a YAML config file") from error


def _similar_file(where: str) -> str:
    folder, name = os.path.split(where)
    present = os.listdir(folder) if os.path.isdir(folder) else []
    matches = get_close_matches(name, present, n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


def _add_override(sources: Sources, override: str, origin: Origin) -> list[Problem]:
    key, equals, text = override.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    if not equals or not all(path):
        return [Problem(origin, f"{override!r}: expected KEY=VALUE, such as train.epochs=3")]
    try:
        # Alone, YAML takes it for a list of nothing; here it is standard input.
        document = parse('"-"' if text.strip() == "-" else text)
    except YamlError as error:
        return [Problem(origin, f"{key}: value {text!r} is not readable as YAML: {error}; put it in quotes")]
    for section in (path[:length] for length in range(1, len(path))):
        held = sources.get(section)
        if section in sources.origins and not isinstance(held, Mapping):
            where = f"{'.'.join(section)} ({sources.origin(section)})"
            return [Problem(origin, f"{key}: {where} is no section, it holds {shown(held)}")]
    sources.put(path, document.value, {}, origin)
    return [Problem(origin, f"{'.'.join((*path, *key))}: given twice") for key, _, _ in document.repeats]
