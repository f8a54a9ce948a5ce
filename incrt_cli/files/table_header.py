"""The first line of a table: what it names, how it is cut, and whether it is a table at all."""

from __future__ import annotations

import re
from pathlib import Path

from incrt_cli.errors import UserError
from incrt_cli.files.streams import Text

_QUOTED = re.compile(r'"[^"]*"')
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_OTHERS = {
    ">": "a FASTA file", "<": "a web page (HTML) or XML", "{": "JSON", "[": "JSON",
    "PAR1": "a Parquet file", "%PDF": "a PDF document", "\x89PNG": "an image", "\x89HDF": "an HDF5 file",
}  # fmt: skip


def first_line(text: Text, path: Path) -> tuple[str, int]:
    """The first line that is not blank, and how many are before it. UserError where no table begins."""
    for skipped, line in enumerate(text):
        if line.strip():
            _check(line, path)
            return line, skipped
    raise UserError(f"{path} has no header line: it holds blank lines only")


def _check(line: str, path: Path) -> None:
    for start, name in _OTHERS.items():
        if line.lstrip().startswith(start):
            raise UserError(f"{path} is {name}, not a table: give a TSV or CSV file")
    if _CONTROL.search(line):
        raise UserError(
            f"{path} is binary, not a table: its first line holds control characters. "
            "Give a TSV or CSV file as UTF-8 text"
        )


def delimiter_of(line: str) -> str:
    """Tab where the header has one, else the commoner of comma and semicolon, what is quoted aside."""
    if "\t" in line:
        return "\t"
    line = _QUOTED.sub("", line)
    return max(",;", key=line.count)
