"""Encoded records to rows, and the account of what they held."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import FastaData
from incrt_cli.data.join import Join
from incrt_cli.data.ledger import EXAMPLES, Ledger
from incrt_cli.data.limits import LengthLimit
from incrt_cli.data.record_encoder import EncodedRecord, RecordEncoder
from incrt_cli.data.rows import RowWriter
from incrt_cli.data.task import UNKNOWN
from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import Composition

NO_DIFFERENCE = UNKNOWN + 1  # the one token of a record that equals the reference
FIRST_MUTATION = NO_DIFFERENCE + 1


class Encoding:
    """Takes records one by one, in order; then ask for `account`."""

    def __init__(self, data: FastaData, encoder: RecordEncoder, writer: RowWriter) -> None:
        self.ledger = Ledger()
        self._data, self._encoder, self._writer = data, encoder, writer
        self._limit = LengthLimit(data.max_tokens, data.too_long)
        self._codes: dict[str, int] = {}  # mutation -> token, in order of appearance
        self._letters = dict.fromkeys(Composition._fields, 0)
        self._tokens = self._kept_tokens = self._covered = self._left_out = 0
        self._reversed: list[str] = []
        self._reversals = 0

    def add(self, name: str, label: int, record: EncodedRecord) -> None:
        self.ledger.read += 1
        if record.dropped is not None:
            self.ledger.drop(record.dropped, name)
            return
        rows = self._limit.rows(self._as_tokens(record.content), name)
        for row in rows:
            self._writer.add(row, label, self.ledger.kept, record.digest)
        self.ledger.kept += 1
        self._count(name, record, sum(map(len, rows)))

    def _as_tokens(self, content: npt.NDArray[np.int32] | list[str]) -> npt.NDArray[np.int32]:
        if isinstance(content, np.ndarray):
            return content
        codes = [self._codes.setdefault(m, FIRST_MUTATION + len(self._codes)) for m in content]
        return np.array(codes or [NO_DIFFERENCE], dtype=np.int32)

    def _count(self, name: str, record: EncodedRecord, kept_tokens: int) -> None:
        assert record.letters is not None
        for kind, count in record.letters._asdict().items():
            self._letters[kind] += count
        self._tokens += max(len(record.content), 1)
        self._kept_tokens += kept_tokens
        if self._data.encoding == "kmer":
            self._covered += self._encoder.kmers.covered(kept_tokens)
        self._left_out += record.left_out
        if record.reverse:
            self.note_reverse(name)

    @property
    def tells_strands(self) -> bool:
        """True where only a comparison between the sequences can show a reverse complement."""
        return self._data.aligned_by == "none" and self._data.alphabet == "nucleotide"

    def note_reverse(self, name: str) -> None:
        self._reversals += 1
        if len(self._reversed) < EXAMPLES:
            self._reversed.append(name)

    def account(self, join: Join) -> dict[str, Any]:
        """JSON-able. Raises UserError when too few records joined, some were too long, or none is left."""
        records = join.account(self._data.min_joined_fraction)
        self._limit.check()
        self._require_some(join)
        stages = {**records.pop("stages"), "encoded": self.ledger.as_dict()}
        return {
            "labels": join.labels.names,
            "records": {"stages": stages, **records},
            "letters": self._letters,
            "mutations": list(self._codes),
            "notes": self._notes(),
            **self._lost(),
        }

    def _lost(self) -> dict[str, Any]:
        """Bases that no k-mer reads, or mutations past the limit."""
        too_long = self._limit.too_long
        if self._data.encoding == "mutations":
            lost = self._tokens - self._kept_tokens
            return {"tokens_lost": {"read": self._tokens, "lost": lost, "too_long": too_long}}
        bases = sum(self._letters.values())
        if self._data.gaps == "remove":
            bases -= self._letters["gaps"]
        return {"bases_lost": {"read": bases, "lost": bases - self._covered, "too_long": too_long}}

    def _notes(self) -> list[str]:
        notes = []
        if self._reversals:
            what, done = "of the reference", "turned"
            if self.tells_strands:
                what, done = "of the first sequence", "NOT turned: give data.reference to turn them"
            shown = ", ".join(self._reversed)
            notes.append(f"warning: {self._reversals:,} reverse complements {what} (e.g. {shown}), {done}")
        if self._left_out:
            notes.append(f"letters inserted into the region, left out of its k-mers: {self._left_out:,}")
        return notes

    def _require_some(self, join: Join) -> None:
        if not self.ledger.kept:
            reasons = "; ".join(
                f"{reason}: {entry['count']:,}" for reason, entry in self.ledger.dropped.items()
            )
            raise UserError(
                f"no sequence of {join.sequences.absolute()} can be encoded ({reasons}): "
                "check data.region, data.reference, data.max_unknown and data.k"
            )
