"""A table of text cells, the cells' formats, and Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

ABSENT = "–"  # a value that is not known; never shown as zero


@dataclass(frozen=True)
class Table:
    """`rows` are as wide as `columns`; `notes` are sentences to stand below.

    The first `text_columns` columns hold words and stand to the left, the others figures.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    text_columns: int = 1


def to_markdown(tables: Sequence[Table]) -> str:
    """The tables one below the other, each under its title, ending in a newline."""
    return "\n".join(_one_markdown(table) for table in tables)


def _one_markdown(table: Table) -> str:
    lines = [f"## {table.title}", ""]
    if table.rows:
        rule = ["---" if i < table.text_columns else "---:" for i in range(len(table.columns))]
        lines += [_line(table.columns), "|" + "|".join(rule) + "|", *map(_line, table.rows), ""]
    for note in table.notes:
        lines += [_one_line(note), ""]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_one_line(cell).replace("|", "\\|") for cell in cells) + " |"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def decimal(value: float | None, digits: int = 1) -> str:
    return ABSENT if value is None else f"{value:,.{digits}f}"


def significant(value: float | None) -> str:
    """Three significant digits: for energies and eigenvalues, whose scale is the task's own."""
    return ABSENT if value is None else f"{value:.3g}"


def whole(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.0f}"


def percent(share: float | None, digits: int = 1) -> str:
    return ABSENT if share is None else f"{100 * share:.{digits}f}"


def yes_no(flag: bool | None) -> str:
    return ABSENT if flag is None else ("yes" if flag else "no")


def mean_sd(values: Sequence[float | None], digits: int = 1, scale: float = 1.0) -> str:
    """Mean ± sample standard deviation of the known values; the deviation needs two of them."""
    known = [scale * value for value in values if value is not None]
    if not known:
        return ABSENT
    mean = f"{statistics.fmean(known):,.{digits}f}"
    return mean if len(known) < 2 else f"{mean} ± {statistics.stdev(known):,.{digits}f}"


def shortened(names: Sequence[str], shown: int = 3) -> str:
    """A few of `names` and how many more there are."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")
