"""Which row of the metadata a FASTA header means. Ids are compared, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from incrt_cli.data.headers import header_id, header_ids, loosened
from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.metadata import Labels

ANOTHER_FIELD = "by another field of the header"
LOOSELY = "with spaces, underscores and a leading hCoV-19/ left aside"
SEVERAL_FIELDS = "fields of the header name several rows of the metadata"
SEVERAL_ALIKE = "several ids of the metadata are alike but for spaces and underscores"


class Match(NamedTuple):
    """`name`: an id of the table, or, where `problem` or no row was found, the header's own."""

    name: str
    found: bool
    problem: str | None = None


def choose_rule(headers: Sequence[str], labels: Labels) -> str:
    """The rule for the whole file: the one whose ids of the first headers the table knows most of, or,
    where it knows fewer than half, knows most of loosely.
    """
    hits: dict[str, int] = {}
    rules_of: dict[str, list[str]] = {}
    for header in headers:
        for rule, key in header_ids(header).items():
            hits[rule] = hits.get(rule, 0) + (key in labels.code)
            rules_of.setdefault(loosened(key), []).append(rule)
    if max(hits.values()) * 2 < len(headers):
        for name in labels.code:
            for rule in rules_of.get(loosened(name), []):
                hits[rule] += 1
    return max(hits, key=hits.__getitem__)


class Matcher:
    """Looks ids up: as `rule` takes them from the header, then (GISAID swaps columns in some headers of its
    spike downloads) by the header's other fields, then, with `loose`, spaces and underscores aside.
    """

    def __init__(self, rule: str, labels: Labels, loose: bool) -> None:
        self.rule = rule
        self._known = labels.code
        self.other_ways: dict[str, tuple[int, list[str]]] = {}  # way -> how often, examples
        self._alike: dict[str, list[str]] | None = None
        self._loose = loose

    def find(self, header: str) -> Match:
        name = header_id(header, self.rule)
        if name in self._known:
            return Match(name, True)
        fields = {key for key in header_ids(header).values() if key in self._known}
        if len(fields) > 1:
            return Match(name, False, SEVERAL_FIELDS)
        if fields:
            return self._note(ANOTHER_FIELD, header, fields.pop())
        return self._find_loosely(name) if self._loose else Match(name, False)

    def _find_loosely(self, name: str) -> Match:
        alike = self._index().get(loosened(name), [])
        if len(alike) > 1:
            return Match(name, False, SEVERAL_ALIKE)
        return self._note(LOOSELY, name, alike[0]) if alike else Match(name, False)

    def _index(self) -> dict[str, list[str]]:
        # Only built where a literal id was missing: it holds every id of the table once more.
        if self._alike is None:
            self._alike = {}
            for name in self._known:
                self._alike.setdefault(loosened(name), []).append(name)
        return self._alike

    def _note(self, way: str, asked: str, name: str) -> Match:
        count, examples = self.other_ways.get(way, (0, []))
        if len(examples) < EXAMPLES:
            examples = [*examples, f"{asked} = {name}"]
        self.other_ways[way] = (count + 1, examples)
        return Match(name, True)

    def notes(self) -> list[str]:
        """One line for every way beside the rule by which records were joined."""
        return [
            f"joined {way}: {count:,} (e.g. {', '.join(examples)})"
            for way, (count, examples) in self.other_ways.items()
        ]
