"""The metadata table: an id column and a label column, one row at a time, every cell kept as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from incrt_cli.data import columns as column_names
from incrt_cli.data.headers import header_ids
from incrt_cli.data.ledger import Ledger
from incrt_cli.errors import UserError
from incrt_cli.files.tables import open_rows

EMPTY, CONFLICT = -1, -2
NO_LABEL, CONFLICTING, REPEATED = "no label", "id has conflicting labels", "id repeated with the same label"
LINE_BREAK = "a line break in the cell (a stray quote?)"


class Labels:
    """`code` of every id in the table: an index into `names`, or EMPTY or CONFLICT.

    One dictionary of small integers is all that is held of the table. `foreign_bytes`: how many of
    the table's bytes are not UTF-8 and were read as Latin-1.
    """

    def __init__(self) -> None:
        self.code: dict[str, int] = {}
        self.names: list[str] = []
        self.ledger = Ledger()
        self.foreign_bytes = 0
        self._index: dict[str, int] = {}

    def add(self, name: str, label: str) -> None:
        """Count one row. The first label of an id stands until another row contradicts it."""
        if "\n" in name or "\n" in label:
            self.drop(LINE_BREAK, _in_one_line(name, label))
            return
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

    def drop(self, reason: str, where: str) -> None:
        """Count one row that has no id and label to speak of."""
        self.ledger.read += 1
        self.ledger.drop(reason, where)


def _in_one_line(name: str, label: str) -> str:
    lines = 1 + name.count("\n") + label.count("\n")
    return f"{name.splitlines()[0] if name else ''} ({lines:,} lines)"


def choose_id(path: Path, columns: Sequence[str], headers: Sequence[str]) -> str:
    """The id column, when none is named: of the known names (else of all), the one that holds most of
    the ids of FASTA `headers`. Reading stops once that is half of them.
    """
    keys = {key for header in headers for key in header_ids(header).values()}
    # GISAID's table has two id columns, and its downloads differ in which of them the FASTA uses.
    candidates = column_names.known(columns, column_names.IDS) or [
        name for name in columns if columns.count(name) == 1
    ]
    if len(candidates) == 1:
        return candidates[0]
    # Different ids, not rows: a date that a header also offers would be found in every other row.
    found: dict[str, set[str]] = {name: set() for name in candidates}
    with open_rows(path, candidates, _pass_over) as rows:
        for row in rows:
            for name, cell in zip(candidates, row, strict=True):
                if cell in keys:
                    found[name].add(cell)
            if max(map(len, found.values())) * 2 >= len(headers):
                break
    return max(candidates, key=lambda name: len(found[name]))


def _pass_over(reason: str, where: str) -> None:
    """`read_labels` reads the same rows again and counts them."""


def read_labels(path: Path, id_column: str, label_column: str) -> Labels:
    """The whole table, one row at a time. Raises UserError when it has no row that can be used."""
    labels = Labels()
    with open_rows(path, [id_column, label_column], labels.drop) as rows:
        for name, label in rows:
            labels.add(name, label)
        labels.foreign_bytes = rows.foreign_bytes
    if not labels.ledger.read:
        raise UserError(f"{path.absolute()} has a header and no rows")
    if not labels.code:
        reasons = "; ".join(
            f"{reason}: {entry['count']:,}" for reason, entry in labels.ledger.dropped.items()
        )
        raise UserError(f"{path.absolute()}: none of its {labels.ledger.read:,} rows can be used ({reasons})")
    return labels
