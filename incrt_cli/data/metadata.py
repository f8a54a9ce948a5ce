"""The metadata table: an id column and a label column, read in chunks, every cell kept as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pandas as pd

from incrt_cli.data import columns as column_names
from incrt_cli.data.archives import open_text
from incrt_cli.data.fasta import header_ids
from incrt_cli.data.ledger import Ledger
from incrt_cli.errors import UserError

_CHUNK_ROWS = 20_000
EMPTY, CONFLICT = -1, -2
NO_LABEL, CONFLICTING, REPEATED = "no label", "id has conflicting labels", "id repeated with the same label"


class Labels:
    """`code` of every id in the table: an index into `names`, or EMPTY or CONFLICT.

    One dictionary of small integers is all that is held of the table.
    """

    def __init__(self) -> None:
        self.code: dict[str, int] = {}
        self.names: list[str] = []
        self.ledger = Ledger()
        self._index: dict[str, int] = {}

    def add(self, name: str, label: str) -> None:
        """Count one row. The first label of an id stands until another row contradicts it."""
        self.ledger.read += 1
        before = self.code.get(name, EMPTY)
        if not label.strip():
            self.code.setdefault(name, EMPTY)
            self.ledger.drop(NO_LABEL, name)
            return
        code = self._index.setdefault(label, len(self._index))
        if code == len(self.names):
            self.names.append(label)
        if before == EMPTY:
            self.code[name] = code
        elif before == code:
            self.ledger.drop(REPEATED, name)
        else:
            # Which of the two is right cannot be known: neither is used.
            self.ledger.drop(CONFLICTING, name, 1 if before == CONFLICT else 2)
            self.code[name] = CONFLICT


@contextmanager
def open_table(path: Path, use: Sequence[str] | None = None) -> Iterator[Iterator[pd.DataFrame]]:
    """Chunks of a TSV or CSV file (the delimiter is told by the header), cells as str.

    Nothing is taken for a missing value: `NA`, `None` and `01` are text. A tab-separated file has
    no quoting, as GISAID, Nextstrain and GLUE write it. Raises UserError when it is no table.
    """
    _, delimiter = read_header(path)
    wanted = None if use is None else list(use)
    with open_text(path, "table") as handle:
        try:
            # index_col=False: else a trailing delimiter would shift every column by one.
            with pd.read_csv(
                handle, sep=delimiter, quoting=_quoting(delimiter), usecols=wanted, index_col=False,
                chunksize=_CHUNK_ROWS, dtype=str, keep_default_na=False,
            ) as chunks:  # fmt: skip
                yield (chunk.fillna("") for chunk in chunks)
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise UserError(f"{path.absolute()} is not a readable table: {error}") from error


def read_header(path: Path) -> tuple[list[str], str]:
    """Column names and delimiter (the commonest of tab, comma and semicolon in the first line)."""
    with open_text(path, "table") as handle:
        line = handle.readline().rstrip("\n")
    delimiter = max("\t,;", key=line.count)
    if not line.strip():
        raise UserError(f"{path.absolute()} has no header line")
    frame = pd.read_csv(io.StringIO(line), sep=delimiter, quoting=_quoting(delimiter), dtype=str, nrows=0)
    return list(frame.columns), delimiter


def _quoting(delimiter: str) -> Literal[0, 3]:
    return csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL


def choose_id(path: Path, columns: Sequence[str], headers: Sequence[str]) -> str:
    """The id column, when none is named: of the known names (else of all), the one most ids of
    FASTA `headers` are in. Reading stops once that is half of them.
    """
    keys = {key for header in headers for key in header_ids(header).values()}
    # GISAID's table has two id columns, and its downloads differ in which of them the FASTA uses.
    candidates = column_names.known(columns, column_names.IDS) or list(columns)
    if len(candidates) == 1:
        return candidates[0]
    hits = dict.fromkeys(candidates, 0)
    with open_table(path, candidates) as chunks:
        for chunk in chunks:
            for name in candidates:
                hits[name] += int(chunk[name].isin(keys).sum())
            if max(hits.values()) * 2 >= len(headers):
                break
    return max(candidates, key=hits.__getitem__)


def read_labels(path: Path, id_column: str, label_column: str) -> Labels:
    """The whole table, one chunk at a time. Raises UserError when it has no row."""
    labels = Labels()
    with open_table(path, sorted({id_column, label_column})) as chunks:
        for chunk in chunks:
            for name, label in zip(chunk[id_column], chunk[label_column], strict=True):
                labels.add(name, label)
    if not labels.ledger.read:
        raise UserError(f"{path.absolute()} has a header and no rows")
    return labels
