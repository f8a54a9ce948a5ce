"""Encoded rows, a label and a split for each record: the `Task`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrt_cli.config.schema import ComposeData, DialData, FastaData, TextData
from incrt_cli.data.split import count_duplicates, permuted, require_filled
from incrt_cli.data.summary import class_counts, lengths_of
from incrt_cli.data.task import SPLITS, EncodedSplit, Task
from incrt_cli.data.token_rows import TokenRows, numbers_of

Ints = npt.NDArray[np.int64]


class Columns:
    """The small columns of encoded rows as vectors (int64); `first` is each record's first row."""

    def __init__(self, rows: pa.Table) -> None:
        self.label, self.record, self.digest = (_column(rows, name) for name in ("label", "record", "digest"))
        self.key, self.unknown, self.length = (_column(rows, name) for name in ("key", "unknown", "length"))
        self.split = _column(rows, "split")
        _, self.first, self.of_row = np.unique(self.record, return_index=True, return_inverse=True)


def _column(rows: pa.Table, name: str) -> Ints:
    chunks = (numbers_of(chunk) for chunk in rows.column(name).chunks)
    return np.concatenate([np.empty(0, dtype=np.int64), *chunks])


@dataclass(frozen=True)
class Parts:
    """What the two kinds of data hand over. `labels` and `split` are per record (negative: left out);
    `account` holds the kind's own keys of the summary; `lookup` is `EncodedSplit`'s.
    """

    rows: pa.Table
    columns: Columns
    labels: Ints
    split: Ints
    names: Sequence[str]
    vocabulary: Mapping[str, Any]
    vocabulary_size: int
    account: Mapping[str, Any]
    sha256: Mapping[str, str]
    lookup: npt.NDArray[np.int32] | None = None


def assemble(parts: Parts, data: FastaData | TextData | DialData | ComposeData, name: str) -> Task:
    """Raises UserError when a split that the config asks for has no record."""
    used = parts.split >= 0
    sizes = {part: int((parts.split == number).sum()) for number, part in enumerate(SPLITS)}
    # Given test and validation files need no fraction; a fraction of 0 asks for an empty split.
    asked = {"train": 1.0, "validation": data.validation_fraction, "test": data.test_fraction}
    require_filled({part: size for part, size in sizes.items() if asked[part]})
    labels = permuted(parts.labels, parts.split, data.split_seed) if data.permute_labels else parts.labels
    tokens = TokenRows(parts.rows.column("tokens"))
    splits = {part: _split(parts, tokens, labels, number) for number, part in enumerate(SPLITS)}
    duplicates = count_duplicates(parts.columns.digest[parts.columns.first][used], parts.labels[used])
    summary = {
        **parts.account,
        # The true labels: the class table of a permuted control describes the same data.
        "classes": class_counts(parts.names, parts.labels, parts.split),
        "splits": {part: {"records": sizes[part], "rows": len(splits[part])} for part in SPLITS},
        "duplicates": duplicates.repeats,
        "conflicts": duplicates.conflicting,
        "seen_inputs": {part: _seen(splits[part]) for part in SPLITS[1:]},
        "unknown_share": {part: _unknown_share(parts, number) for number, part in enumerate(SPLITS)},
        "lengths": lengths_of(parts.columns.length[used[parts.columns.of_row]]),
        "vocabulary_size": parts.vocabulary_size,
        "permuted_labels": data.permute_labels,
    }
    return Task(
        name=name,
        splits=splits,
        labels=list(parts.names),
        vocabulary=parts.vocabulary,
        vocabulary_size=parts.vocabulary_size,
        max_tokens=data.max_tokens,
        summary=summary,
        sha256=parts.sha256,
    )


def _rows_of(parts: Parts, number: int) -> Ints:
    return np.flatnonzero(parts.split[parts.columns.of_row] == number)


def _split(parts: Parts, tokens: TokenRows, labels: Ints, number: int) -> EncodedSplit:
    rows, columns = _rows_of(parts, number), parts.columns
    return EncodedSplit(
        tokens=tokens.select(rows),
        lengths=columns.length[rows],
        labels=labels[columns.of_row[rows]],
        records=columns.record[rows],
        # By tokens, not by record: with a region, different genomes can be one and the same input.
        seen=np.isin(columns.key[rows], columns.key[_rows_of(parts, 0)]),
        lookup=parts.lookup,
    )


def _seen(split: EncodedSplit) -> dict[str, int]:
    return {"rows": int(split.seen.sum()), "of": len(split)}


def _unknown_share(parts: Parts, number: int) -> float:
    rows = _rows_of(parts, number)
    return float(parts.columns.unknown[rows].sum() / max(parts.columns.length[rows].sum(), 1))
