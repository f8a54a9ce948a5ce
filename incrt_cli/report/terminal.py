"""Tables on standard output: drawn on a terminal, Markdown elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from incrt_cli.report.table import Table, to_markdown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Drawing

_TURNED_ROWS = 3  # a wide table of so few rows reads better with the rows as columns
_LONGEST_KEPT = 16  # words up to this length are not broken over two lines
_NO_LIMIT = 10_000


def show_tables(tables: Sequence[Table]) -> None:
    """Print `tables`; a pipe or a file gets the same cells as plain Markdown."""
    if not sys.stdout.isatty():
        print(to_markdown(tables), end="")
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for table in tables:
        _show(table, console)


def _show(table: Table, console: Console) -> None:
    console.print(f"\n{table.title}", style="bold")
    if table.rows:
        console.print(_fitting(table, console))
    for note in table.notes:
        console.print(note, style="dim")


def _fitting(table: Table, console: Console) -> Drawing:
    """The best that the width allows: one line a row, the table turned, whole words, broken words."""
    from rich.measure import Measurement

    free = console.options.update(max_width=_NO_LIMIT)
    drawing = _drawn(table)
    if Measurement.get(console, free, drawing).maximum > console.width and len(table.rows) <= _TURNED_ROWS:
        drawing = _drawn(_turned(table))
    if Measurement.get(console, free, drawing).minimum <= console.width:
        return drawing
    # Columns that insist on whole words would be cut off at the edge of the screen.
    for column in drawing.columns:
        column.min_width = None
    return drawing


def _drawn(table: Table) -> Drawing:
    from rich import box
    from rich.table import Table as Drawing
    from rich.text import Text

    # `Text`, not strings: rich would read a name such as "[red]" as a colour.
    drawing = Drawing(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for position, texts in enumerate(zip(table.columns, *table.rows, strict=True)):
        drawing.add_column(
            Text(texts[0]),
            justify="left" if position < table.text_columns else "right",
            overflow="fold",
            min_width=min(_LONGEST_KEPT, max(map(len, " ".join(texts).split()), default=1)),
        )
    for row in table.rows:
        drawing.add_row(*map(Text, row))
    return drawing


def _turned(table: Table) -> Table:
    columns, *rows = zip(table.columns, *table.rows, strict=True)
    return Table(table.title, columns, tuple(rows))
