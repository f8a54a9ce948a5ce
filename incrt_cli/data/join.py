"""The join of FASTA records and metadata rows, with an account of both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from incrt_cli.data.ledger import EXAMPLES, Ledger
from incrt_cli.data.match import Matcher
from incrt_cli.data.metadata import CONFLICT, CONFLICTING, EMPTY, NO_LABEL, Labels
from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import Alphabet
from incrt_cli.sequences.fasta import read_fasta

NOT_IN_METADATA, REPEATED_ID = "id not in the metadata", "id repeated in the FASTA"
NO_SEQUENCE = "no sequence"
_TAKEN = -3  # this id's row has its sequence already


@dataclass
class Join:
    """Iterate over it for (id, sequence, label code) of every joined record; then ask for `account`.

    On both sides, read = joined + dropped.
    """

    sequences: Path
    metadata: Path
    labels: Labels
    matcher: Matcher
    id_column: str
    alphabet: Alphabet

    def __post_init__(self) -> None:
        self.ledger = Ledger()
        self._first_ids: list[str] = []

    def __iter__(self) -> Iterator[tuple[str, bytes, int]]:
        for header, sequence in read_fasta(self.sequences, self.alphabet):
            name, found, problem = self.matcher.find(header)
            self.ledger.read += 1
            if len(self._first_ids) < EXAMPLES:
                self._first_ids.append(name)
            code = self.labels.code[name] if found else None
            if code is None or code < 0:
                self.ledger.drop(problem or _reason(code), name)
                continue
            self.ledger.kept += 1
            # Marked in the table itself: a set of all joined ids would hold them a second time.
            self.labels.code[name] = _TAKEN
            yield name, sequence, code

    def account(self, min_fraction: float) -> dict[str, Any]:
        """Both ledgers and the joined share of the smaller side; UserError below `min_fraction` of it."""
        rows = self.labels.ledger
        missing = [name for name, code in self.labels.code.items() if code >= 0]
        for name in missing[:EXAMPLES]:
            rows.drop(NO_SEQUENCE, name)
        if len(missing) > EXAMPLES:
            rows.drop(NO_SEQUENCE, missing[0], len(missing) - EXAMPLES)
        rows.kept = self.ledger.kept
        # Of the smaller side: a few genomes against all of GISAID's metadata, or the reverse, is fine.
        joined = self.ledger.kept / min(self.ledger.read, rows.read)
        if joined < min_fraction or not self.ledger.kept:
            raise UserError(self._too_few(joined, min_fraction))
        return {
            "stages": {"sequences": self.ledger.as_dict(), "metadata": rows.as_dict()},
            "joined": self.ledger.kept,
            "joined_fraction": joined,
        }

    def _too_few(self, joined: float, min_fraction: float) -> str:
        rows, paths = self.labels.ledger, (self.sequences.absolute(), self.metadata.absolute())
        reasons = "; ".join(f"{reason}: {entry['count']:,}" for reason, entry in self.ledger.dropped.items())
        return (
            f"only {self.ledger.kept:,} of {self.ledger.read:,} sequences in {paths[0]} joined the "
            f"{rows.read:,} rows of {paths[1]}: {joined:.1%} of the smaller side, "
            f"data.min_joined_fraction is {min_fraction:.1%} ({reasons}).\n"
            f"Ids in the FASTA ({self.matcher.rule}): {', '.join(self._first_ids)}. "
            f"Ids in the table (column {self.id_column!r}): {', '.join(islice(self.labels.code, EXAMPLES))}. "
            "Name the column that holds the FASTA's ids with data.id, or lower data.min_joined_fraction."
        )


def _reason(code: int | None) -> str:
    if code is None:
        return NOT_IN_METADATA
    return {EMPTY: NO_LABEL, CONFLICT: CONFLICTING, _TAKEN: REPEATED_ID}[code]
