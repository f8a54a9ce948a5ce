"""The cells of a sweep from its command line: nothing here trains or writes."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Config
from incrt_cli.errors import UserError

SEED = "seed"
MOST_CELLS = 1000  # a slip of the keyboard must not plan for months
_RANGE = re.compile(r"([+-]?\d+)\.\.([+-]?\d+)")
_LIKE_A_RANGE = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?\.\.[+-]?[\d.]+(e[+-]?\d+)?", re.IGNORECASE)
_DIGITS = 15
_OPEN, _CLOSE, _QUOTES = "[{(", "]})", "\"'"
_LONGEST = 120  # of a folder's name, in characters; file systems allow 255 bytes


@dataclass(frozen=True)
class Cell:
    """One run: `settings` are the swept keys with this cell's values, as they were given."""

    name: str
    settings: Mapping[str, str]
    config: Config


def plan_sweep(path: Path, overrides: Sequence[str]) -> list[Cell]:
    """Every combination of the values in `overrides`, over the config file `path`; seeds vary fastest.

    A value is swept where it has commas or a range of whole numbers `a..b`, both ends included; commas
    inside brackets or quotes separate nothing. Other overrides hold for every cell. Raises UserError for
    values that cannot be read or used, for a grid of more than `MOST_CELLS`, and for none.
    """
    plain, swept = _separated(overrides)
    count = math.prod(len(values) for values in swept.values())
    if count > MOST_CELLS:
        sizes = " x ".join(f"{len(values)} of {key}" for key, values in swept.items())
        raise UserError(f"{count:,} cells ({sizes}); at most {MOST_CELLS:,} in one sweep")
    # In an order of its own, so that the folders' names do not hang on that of the command line.
    keys = sorted(swept, key=lambda key: (key == SEED, key))
    grid = [
        dict(zip(keys, combination, strict=True)) for combination in product(*(swept[key] for key in keys))
    ]
    cells = [
        Cell(folder_name(settings), settings, load_config(path, [*plain, *_assignments(settings)]))
        for settings in grid
    ]
    _refuse_repeats(cells)
    return cells


def folder_name(settings: Mapping[str, str]) -> str:
    """`gate.birth=random,seed=0`; a digest ends a name that had to be changed to be a folder's."""
    whole = ",".join(_assignments(settings))
    name = re.sub(r"[^\w.,=+-]", "_", whole, flags=re.ASCII)[:_LONGEST]
    return name if name == whole else f"{name}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def _assignments(settings: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in settings.items()]


def _separated(overrides: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The overrides that hold for every cell, and the values of each swept key."""
    plain: list[str] = []
    swept: dict[str, list[str]] = {}
    given: list[str] = []
    for override in overrides:
        key, equals, text = override.partition("=")
        key = ".".join(part.strip() for part in key.split("."))
        parts = _parts(text)
        given.append(key)
        if not equals or len(parts) == 1 and not _LIKE_A_RANGE.fullmatch(parts[0]):
            plain.append(override)
        else:
            swept[key] = list(dict.fromkeys(value for part in parts for value in _values(key, text, part)))
    if twice := [key for key in swept if given.count(key) > 1]:
        raise UserError(f"{twice[0]}: given twice; give all of its values at once: {twice[0]}=A,B")
    if not swept:
        raise UserError("nothing to sweep: give a range or a list of values, such as seed=0..4")
    return plain, swept


def _parts(text: str) -> list[str]:
    """`text` cut at the commas that stand in no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if letter in _QUOTES and quote in ("", letter):
            quote = "" if quote else letter
        elif not quote:
            depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and depth <= 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _values(key: str, text: str, part: str) -> Iterator[str]:
    if not part:
        raise UserError(
            f"{key}={text}: a value is missing between the commas; put a text with commas in quotes"
        )
    if not _LIKE_A_RANGE.fullmatch(part):
        yield part
        return
    match = _RANGE.fullmatch(part)
    if match is None or max(map(len, match.groups())) > _DIGITS:
        raise UserError(f"{key}={text}: a range is of whole numbers, such as 0..4; list others: 0.1,0.2")
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise UserError(f"{key}={text}: the range {part} is empty; its smaller end comes first")
    # One more than is allowed is enough to be refused for.
    yield from map(str, range(first, min(last, first + MOST_CELLS) + 1))


def _refuse_repeats(cells: Sequence[Cell]) -> None:
    """The same config twice would count as two independent runs in every mean."""
    seen: dict[str, Cell] = {}
    for cell in cells:
        other = seen.setdefault(cell.config.model_dump_json(), cell)
        if other is not cell:
            raise UserError(f"{other.name} and {cell.name} are the same run; leave one of the values out")
