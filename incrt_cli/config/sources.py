"""Values laid over each other (file, then command line), with the place every value came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from incrt_cli.config.yaml_lines import KeyPath


class Origin(NamedTuple):
    """Where a value was given; origins sort in the order in which a reader would look for them."""

    layer: int  # later layers override earlier ones
    line: int  # in a file; on the command line, the number of the override
    label: str

    def __str__(self) -> str:
        return f"{self.label}:{self.line}" if self.layer == FILE else self.label


BASE, FILE, COMMAND_LINE = 0, 1, 2


class Sources:
    """Nested plain `values`, and in `origins` the place of every key that somebody wrote."""

    def __init__(self, root: Origin) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[KeyPath, Origin] = {(): root}

    def put(self, path: KeyPath, value: Any, origins: Mapping[KeyPath, Origin], default: Origin) -> None:
        """Lay `value` over what is at `path`; a mapping merges key by key, anything else replaces."""
        if isinstance(value, Mapping):
            self._section(path)
            self.origins[path] = origins.get(path, default)
            for key, below in value.items():
                self.put((*path, str(key)), below, origins, default)
            return
        self._forget(path)
        self._section(path[:-1])[path[-1]] = value
        self.origins[path] = origins.get(path, default)

    def get(self, path: KeyPath) -> Any:
        """The value at `path`, None where there is none."""
        value: Any = self.values
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def origin(self, path: KeyPath) -> Origin:
        """The place of `path`, else of the first key below it, else of the section that should hold it."""
        if path in self.origins:
            return self.origins[path]
        places = [self.origins[key] for key in self.below(path)]
        return min(places) if places else self.origin(path[:-1])

    def below(self, path: KeyPath) -> list[KeyPath]:
        """The keys that somebody wrote somewhere below `path`."""
        return [key for key in self.origins if len(key) > len(path) and key[: len(path)] == path]

    def _section(self, path: KeyPath) -> dict[str, Any]:
        section = self.values
        for length, key in enumerate(path, start=1):
            if not isinstance(section.get(key), dict):
                self._forget(path[:length])
                section[key] = {}
            section = section[key]
        return section

    def _forget(self, path: KeyPath) -> None:
        for key in [path, *self.below(path)]:
            self.origins.pop(key, None)
