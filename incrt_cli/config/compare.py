"""In which keys two configs differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from incrt_cli.config.schema import Config


def differing_keys(one: Config, other: Config) -> list[str]:
    """Dotted keys, sorted, whose values are not the same in both."""
    first, second = dict(_flat(one.model_dump())), dict(_flat(other.model_dump()))
    return sorted(key for key in first.keys() | second.keys() if first.get(key) != second.get(key))


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
