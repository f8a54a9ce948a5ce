"""Tables (TSV, CSV) row by row, every cell as the text that is written.

Nothing is taken for a missing value or a number: `NA`, `None` and `01` are text. A tab-separated file
has no quoting, as GISAID, Nextstrain and GLUE write it; the others have, as RFC 4180 describes it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from incrt_cli.errors import UserError
from incrt_cli.files.streams import Text, open_text
from incrt_cli.files.table_header import delimiter_of, first_line

Report = Callable[[str, str], None]
NUL = "a NUL byte in the row (a damaged file?)"
STRAY_QUOTE = "a stray quote"
_MAX_CELL = 1 << 27  # characters: what an unclosed quote may swallow before it is called one


@contextmanager
def open_rows(path: Path, use: Sequence[str] | None = None, report: Report | None = None) -> Iterator[Rows]:
    """The rows of a table, packed or not; the delimiter is told by its header.

    `use` names the columns whose cells are wanted, all named ones when it is None. `report` is told
    the reason and the place of every row that cannot be used; without it such a row is an error.
    Raises UserError, now or while rows are read, when the file cannot be read or is no table, or when
    a column of `use` is absent or there twice.
    """
    with open_text(path, "table") as text:
        yield Rows(text, path.absolute(), use, report)


def read_header(path: Path) -> tuple[list[str], str]:
    """Names of the named columns, and the delimiter. Raises UserError as `open_rows` does."""
    with open_rows(path) as rows:
        return rows.columns, rows.delimiter


class Rows:
    """Iterate over it, once, for the cells of `columns` in each row; blank lines are no rows."""

    def __init__(self, text: Text, path: Path, use: Sequence[str] | None, report: Report | None) -> None:
        self._text, self._path, self._report = text, path, report or self._refuse
        self._line, self._has_nul = "", False
        line, self._skipped = first_line(text, path)
        self.delimiter = delimiter_of(line)
        quoting = csv.QUOTE_NONE if self.delimiter == "\t" else csv.QUOTE_MINIMAL
        self._format: dict[str, Any] = {"delimiter": self.delimiter, "quoting": quoting}
        csv.field_size_limit(_MAX_CELL)
        # Strict: else text behind a closing quote, the mark of a stray one, goes unseen.
        self._reader = csv.reader(self._lines(line), strict=True, **self._format)
        self._header = self._read_header()
        named = [i for i, name in enumerate(self._header) if name]
        # A delimiter at the end of each line makes one more column, without a name.
        self._shortest = named[-1] + 1
        chosen = named if use is None else [self._index(name) for name in use]
        self.columns = [self._header[i] for i in chosen]
        self._pick = _picker(chosen)

    @property
    def foreign_bytes(self) -> int:
        """Bytes read so far that are not UTF-8; they were taken as Latin-1."""
        return self._text.foreign_bytes

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        reader, width, pick, done = self._reader, len(self._header), self._pick, self._reader.line_num
        while True:
            try:
                for row in reader:
                    if len(row) == width and not self._has_nul or self._is_usable(row, done):
                        yield pick(row)
                    done = reader.line_num
                return
            except csv.Error as error:
                if (repaired := self._repaired(error, done)) and self._is_usable(repaired, done):
                    yield pick(repaired)
                done = reader.line_num

    def _is_usable(self, row: list[str], done: int) -> bool:
        width = len(self._header)
        if self._has_nul:
            self._has_nul = False
            self._report(NUL, self._where(done))
        elif self._shortest <= len(row) and not any(row[width:]):
            return True
        elif any(cell.strip() for cell in row):
            self._report(f"row with {len(row)} cells where the header has {width}", self._where(done))
        return False

    def _repaired(self, error: csv.Error, done: int) -> list[str] | None:
        """A line whose quotes pair up, read as sloppy writers mean it; anything else is reported."""
        alone = self._reader.line_num - done == 1 and self._line.count('"') % 2 == 0
        if "field limit" in str(error):
            self._report(f"a cell of more than {_MAX_CELL:,} characters", self._where(done))
        elif alone:
            return next(csv.reader([self._line], **self._format))
        else:
            self._report(STRAY_QUOTE, self._where(done))
        return None

    def _lines(self, first: str) -> Iterator[str]:
        for line in chain([first], self._text):
            if "\0" in line:
                # Python 3.10 refuses NUL, later ones read it: here it is the same with all.
                self._has_nul, line = True, line.replace("\0", " ")
            self._line = line
            yield line

    def _read_header(self) -> list[str]:
        try:
            header = next(self._reader)
        except csv.Error as error:
            raise UserError(f"{self._path}: its header cannot be read ({error})") from error
        if not any(header):
            raise UserError(f"{self._path} has no header line: its first line names no column")
        return header

    def _index(self, name: str) -> int:
        count = self._header.count(name)
        if count != 1:
            problem = f"{count} columns {name!r}: rename all but one" if count else f"no column {name!r}"
            raise UserError(f"{self._path} has {problem}")
        return self._header.index(name)

    def _where(self, done: int) -> str:
        first, last = done + 1 + self._skipped, self._reader.line_num + self._skipped
        return f"line {first}" if first == last else f"lines {first} to {last} ({last - first + 1} lines)"

    def _refuse(self, reason: str, where: str) -> None:
        raise UserError(f"{self._path}, {where}: {reason}")


def _picker(chosen: Sequence[int]) -> Callable[[list[str]], tuple[str, ...]]:
    if len(chosen) == 1:
        return lambda row: (row[chosen[0]],)  # itemgetter would give the bare cell
    return itemgetter(*chosen)
