"""Tables row by row: cells as they are written, and every row that cannot be used told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.files import tables
from incrt_cli.files.tables import NUL, STRAY_QUOTE, open_rows, read_header

QUOTED = 'a,b\n1,"x, ""y""\nz"\n2,w\n'
Told = list[tuple[str, str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def read(path: Path, use: list[str] | None = None) -> tuple[list[tuple[str, ...]], Told]:
    told: Told = []
    with open_rows(path, use, lambda reason, where: told.append((reason, where))) as rows:
        return list(rows), told


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_cells_are_text_as_they_are_written(path: Path, delimiter: str, line_end: str) -> None:
    rows = [("None", "NA"), ("01", "1.0"), ("", "nan"), ("NULL", " True "), ("1e5", "é")]
    lines = [delimiter.join(row) for row in [("a", "b"), *rows]]
    path.write_text(line_end.join(lines), newline="")
    assert read(path) == (rows, [])


@pytest.mark.parametrize(
    "header, columns, delimiter",
    [
        ("a\tb, c, d\te", ["a", "b, c, d", "e"], "\t"),
        ('"a, b, c";d', ["a, b, c", "d"], ";"),
        ('"two\nlines",b', ["two\nlines", "b"], ","),
        ("\n  \na,b,,", ["a", "b"], ","),
        (",a,b", ["a", "b"], ","),
        ("alone", ["alone"], ","),
    ],
)
def test_the_header_tells_columns_and_delimiter(
    path: Path, header: str, columns: list[str], delimiter: str
) -> None:
    path.write_text(header + "\n")
    assert read_header(path) == (columns, delimiter)


@pytest.mark.parametrize(
    "content, rows, told",
    [
        pytest.param(QUOTED, [("1", 'x, "y"\nz'), ("2", "w")], [], id="a quoted line break"),
        pytest.param('a\tb\n"1\t2\n3"\t"4\n', [('"1', "2"), ('3"', '"4')], [], id="TSV has no quoting"),
        pytest.param("a,b\n\n1,2\n \n,\n3,4\n\n", [("1", "2"), ("", ""), ("3", "4")], [], id="blank lines"),
        pytest.param("a\tb\t\n1\t2\t\n3\t4\n", [("1", "2"), ("3", "4")], [], id="delimiter ends lines"),
        pytest.param("a;b\n1;2;\n3;4;;\n", [("1", "2"), ("3", "4")], [], id="delimiter ends rows alone"),
        pytest.param("a,b\n1," + "x" * 300_000, [("1", "x" * 300_000)], [], id="a very long cell"),
        pytest.param('a,b\n1,"x"y\n2,5" z\n', [("1", "xy"), ("2", '5" z')], [], id="sloppy quotes in a line"),
        pytest.param(
            "a\tb\tc\n\n1\t2\n3\t4\t5\n6\t7\t8\t9\n", [("3", "4", "5")],
            [("row with 2 cells where the header has 3", "line 3"),
             ("row with 4 cells where the header has 3", "line 5")],
            id="ragged rows",
        ),
        pytest.param(
            '\na,b\n1,"x\n2,y\n3,"z\n4,w\n', [("4", "w")], [(STRAY_QUOTE, "lines 3 to 5 (3 lines)")],
            id="a stray quote that another one ends",
        ),
        pytest.param(
            'a,b\n1,x\n2,"y\n3,z\n', [("1", "x")], [(STRAY_QUOTE, "lines 3 to 4 (2 lines)")],
            id="a quote that nothing ends",
        ),
        pytest.param('a,b\n1,x\n2,"y', [("1", "x")], [(STRAY_QUOTE, "line 3")], id="nor in the last line"),
        pytest.param("a,b\n1,x\0\n2,y\n\0\0\0", [("2", "y")], [(NUL, "line 2"), (NUL, "line 4")], id="NUL"),
    ],
)  # fmt: skip
def test_a_row_is_read_or_told(path: Path, content: str, rows: list[tuple[str, ...]], told: Told) -> None:
    path.write_text(content)
    assert read(path) == (rows, told)


def test_a_cell_without_end_is_told_before_it_fills_the_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_MAX_CELL", 1000)
    path.write_text("a,b\n1," + "x" * 1001 + "\n2,y\n")
    assert read(path) == ([("2", "y")], [("a cell of more than 1,000 characters", "line 2")])


def test_without_anybody_to_tell_such_a_row_is_an_error(path: Path) -> None:
    path.write_text("a\tb\n1\n")
    with pytest.raises(UserError, match=f"{path}, line 2: row with 1 cells where the header has 2"):
        with open_rows(path) as rows:
            list(rows)


def test_columns_are_given_as_they_are_asked_for(path: Path) -> None:
    path.write_text("a,b,c,b\n1,2,3,4\n")
    assert read(path, ["c", "a"]) == ([("3", "1")], [])
    assert read(path, ["c"]) == ([("3",)], [])
    assert read(path) == ([("1", "2", "3", "4")], [])
    with pytest.raises(UserError, match=f"{path} has 2 columns 'b': rename all but one"):
        read(path, ["a", "b"])
    with pytest.raises(UserError, match=f"{path} has no column 'd'"):
        read(path, ["d"])


def test_bytes_that_are_not_utf_8_are_read_and_counted(path: Path) -> None:
    path.write_bytes(b"id\tplace\n1\tZ\xfcrich\n2\tGen\xe8ve\n")
    with open_rows(path, ["place"]) as rows:
        assert list(rows) == [("Zürich",), ("Genève",)]
        assert rows.foreign_bytes == 2


@pytest.mark.parametrize(
    "content, complaint",
    [
        (b"\n \n", "has no header line: it holds blank lines only"),
        (b",,\n1,2,3\n", "has no header line: its first line names no column"),
        (b'a,"b\n1,2\n', "its header cannot be read"),
        (b"\n<!DOCTYPE html>\n<html>", "is a web page .HTML. or XML, not a table: give a TSV or CSV file"),
        (b'{"a": 1}\n', "is JSON, not a table: give a TSV or CSV file"),
        (b'[{"a": 1}]\n', "is JSON, not a table: give a TSV or CSV file"),
        (b">a|b\nACGT\n", "is a FASTA file, not a table: give a TSV or CSV file"),
        (b"PAR1\x15\x04", "is a Parquet file, not a table: give a TSV or CSV file"),
        (b"%PDF-1.7\n", "is a PDF document, not a table: give a TSV or CSV file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is an image, not a table: give a TSV or CSV file"),
        (b"SQLite format 3\0\x10", "is binary, not a table: its first line holds control char"),
        ("a\tb\n".encode("utf-16-le"), "is binary, not a table: its first line holds control char"),
    ],
)
def test_what_is_no_table_is_told_by_its_beginning(path: Path, content: bytes, complaint: str) -> None:
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"{path}:? {complaint}"):
        read_header(path)


@pytest.mark.shared_data
def test_the_whole_of_a_real_table_is_read(shared_data: Path) -> None:
    path = shared_data / "sars_cov_2" / "metadata_tsv_2021_09_09.tar.xz"
    rows, told = read(path, ["Virus name", "Pango lineage"])
    assert (len(rows), told, len(read_header(path)[0])) == (3067, [], 24)
