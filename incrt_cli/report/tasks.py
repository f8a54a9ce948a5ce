"""Which task a run was on: its source of data, whatever was cut from it or asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from incrt_cli.report.rows import section
from incrt_cli.rundir import Run

# What makes generated data another task; its seed and the number of records only draw it anew.
_GENERATED = {
    "synthetic": ("variants", "variants"),
    "dial": ("lookups", "look-ups"),
    "compose": ("values", "middle values"),
}


class Source(NamedTuple):
    """`key` tells sources apart: the hash of the files' bytes where it is known; `name` is for people."""

    key: tuple[str, ...]
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def data_source(run: Run) -> Source:
    """The source of a run's data: the same for its other seeds, regions, encodings and label columns."""
    data = section(run.config, "data")
    hashes = section(run.environment, "data_sha256")
    kind = str(data.get("kind"))
    if kind in _GENERATED:
        key, words = _GENERATED[kind]
        name = f"{kind}, {data.get(key)} {words}"
        return Source((name,), name)
    if kind == "fasta":
        return _of_file(str(data.get("sequences")), hashes)
    given = str(data.get("path") or data.get("hub"))
    # A folder of sentences is all of its files, in whatever order and place.
    key_of_files = tuple(sorted(str(value) for value in hashes.values())) or (given,)
    return Source(key_of_files, Path(given).name or given)


def _of_file(given: str, hashes: Mapping[str, Any]) -> Source:
    # Two encodings of one FASTA read different companions (a reference, genes): it alone is the source.
    return Source((str(hashes.get(given, given)),), Path(given).name)
