"""From the program's values to JSON text."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timezone
from pathlib import PurePath
from typing import Any


def utc_now() -> str:
    """The present in UTC, ISO 8601 with microseconds; such strings sort by time."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def to_plain(value: Any) -> Any:
    """`value` as dicts, lists, strings, numbers, booleans and None.

    NumPy and torch scalars and arrays, dataclasses, paths, datetimes, mappings, sequences and sets are
    accepted; a non-finite number becomes None, because JSON has none. Raises TypeError for anything
    else, which is a mistake in the program.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Set):
        return sorted((to_plain(item) for item in value), key=str)
    # Arrays and tensors are known by this method, so that neither library is imported here.
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [to_plain(item) for item in value]
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """`value` as strict JSON (no NaN or Infinity); `indent=None` gives one line."""
    return json.dumps(to_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
