"""Tasks that are drawn here, so that what they need is known: from a draw to rows and parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import ComposeData, DialData
from incrt_cli.data.assemble import Columns, Parts
from incrt_cli.data.cache import Entry, cache_folder, get_or_make
from incrt_cli.data.rows import RowWriter, digest
from incrt_cli.data.split import assign
from incrt_cli.data.summary import lost
from incrt_cli.errors import UserError

Ints = npt.NDArray[np.int64]
FIRST_TOKEN = 2  # after padding and unknown
Data = TypeVar("Data", DialData, ComposeData)


@dataclass(frozen=True)
class DrawnTask(Generic[Data]):
    """What tells one drawn task from another.

    `draw` gives token ids (N × length) and labels (N), the same for the same settings; `shaping` names the
    keys that the draw depends on, `sizes` those that a sequence's length does.
    """

    data: Data
    draw: Callable[[Data], tuple[Ints, Ints]]
    labels: Sequence[str]
    length: int
    vocabulary_size: int
    shaping: frozenset[str]
    sizes: tuple[str, str]
    what: str  # that decides the label, in words

    def parts(self, say: Callable[[str], None]) -> tuple[Entry, Parts]:
        """Rows from the cache, or made now. Raises UserError when sequences exceed `max_tokens`."""
        data = self.data
        if self.length > data.max_tokens:
            raise UserError(
                f"data.{self.sizes[0]} and data.{self.sizes[1]} make {self.length} tokens a sequence, more "
                f"than data.max_tokens = {data.max_tokens}: raise that"
            )
        key = {"kind": data.kind, **data.model_dump(include=set(self.shaping))}
        entry = get_or_make(
            cache_folder(data.cache_dir), key, self.vocabulary_size, lambda writer: self._make(writer, say)
        )
        return entry, self._cut(entry)

    def _make(self, writer: RowWriter, say: Callable[[str], None]) -> dict[str, Any]:
        say(f"drawing {self.data.examples:,} sequences: {self.what}")
        tokens, labels = self.draw(self.data)
        for number, (row, label) in enumerate(zip(tokens, labels.tolist(), strict=True)):
            writer.add(row, label, number, digest(row.tobytes()))
        return {
            "labels": list(self.labels),
            "vocabulary_size": self.vocabulary_size,
            "tokens": {"read": tokens.size, "lost": 0, "too_long": 0},
        }

    def _cut(self, entry: Entry) -> Parts:
        data, account, columns = self.data, entry.account, Columns(entry.rows)
        split = assign(
            columns.label, columns.digest, data.validation_fraction, data.test_fraction, data.split_seed
        )
        stage = {"read": data.examples, "kept": data.examples, "dropped": {}}
        summary = {
            "notes": [f"drawn here: {self.what}"],
            "records": {"stages": {"drawn": stage}},
            "classes_left_out": {},
            "tokens_lost": lost(account["tokens"]),
        }
        vocabulary = {"kind": data.kind, **data.model_dump(include={*self.sizes, "max_tokens"})}
        return Parts(
            entry.rows, columns, columns.label, split, account["labels"],
            vocabulary, account["vocabulary_size"], summary, {},
        )  # fmt: skip
