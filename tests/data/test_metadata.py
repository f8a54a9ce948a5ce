"""The metadata table: which columns, and one label for each id."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.data.columns import IDS, LABELS, choose
from incrt_cli.data.metadata import CONFLICT, EMPTY, choose_id, open_table, read_header, read_labels
from incrt_cli.errors import UserError
from tests.data.files import write_table

GISAID = ["Virus name", "Accession ID", "Clade", "Pango lineage", "Variant"]


def read(path: Path) -> list[list[str]]:
    with open_table(path) as chunks:
        return [row for chunk in chunks for row in chunk.to_numpy().tolist()]


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_cells_are_text_as_they_are_written(tmp_path: Path, delimiter: str) -> None:
    rows = [["None", "NA"], ["01", "1.0"], ["", "nan"], ["NULL", "True"]]
    assert read(write_table(tmp_path / "m", ["a", "b"], rows, delimiter)) == rows


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    path = tmp_path / "m.tsv"
    path.write_bytes(b"\xef\xbb\xbfstrain\tlineage\r\nx\tB\r\n")
    assert read_header(path) == (["strain", "lineage"], "\t")
    assert read(path) == [["x", "B"]]


def test_quotes_belong_to_csv_and_are_letters_in_tsv(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text('name,label\n"Doe, J","B"\n')
    assert read(path) == [["Doe, J", "B"]]
    path.write_text('name\tlabel\n"x\tB\ny"\tC\n')
    assert read(path) == [['"x', "B"], ['y"', "C"]]


def test_a_short_row_has_empty_cells_and_an_extra_delimiter_shifts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.tsv"
    path.write_text("a\tb\tc\n1\n2\t3\t4\n")
    assert read(path) == [["1", "", ""], ["2", "3", "4"]]
    path.write_text("a\tb\n1\t2\t\n3\t4\t\n")
    with open_table(path, ["a", "b"]) as chunks:
        assert next(chunks).to_numpy().tolist() == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize("content, complaint", [("\n\n", "no header"), ("a\tb\n", "no rows")])
def test_a_table_without_header_or_rows_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "m.tsv"
    path.write_text(content)
    with pytest.raises(UserError, match=complaint):
        read_header(path)
        read_labels(path, "a", "b")


@pytest.mark.parametrize(
    "columns, label",
    [
        (GISAID, "Pango lineage"),
        (["strain", "Nextstrain_clade", "pango_lineage"], "pango_lineage"),
        (["taxon", "lineage", "scorpio_call"], "lineage"),
        (["seqName", "clade"], "clade"),
    ],
)
def test_label_columns_of_known_tables_are_guessed(columns: list[str], label: str) -> None:
    assert choose(columns, None, LABELS, "data.label", "table") == label


def test_an_absent_column_is_answered_with_the_nearest_ones() -> None:
    with pytest.raises(UserError, match="no column 'pango_linage'.*nearest: 'Pango lineage'"):
        choose(GISAID, "pango_linage", LABELS, "data.label", "table")
    with pytest.raises(UserError, match="Set data.label to one of: x, y"):
        choose(["x", "y"], None, LABELS, "data.label", "table")


@pytest.mark.parametrize(
    "headers, chosen",
    [(["hCoV-19/b|EPI_2"], "Virus name"), (["EPI_2"], "Accession ID"), (["nobody"], "Virus name")],
)
def test_the_id_column_is_the_known_one_that_joins(tmp_path: Path, headers: list[str], chosen: str) -> None:
    rows = [["hCoV-19/a", "EPI_1"], ["hCoV-19/b", "EPI_2"]]
    path = write_table(tmp_path / "m.tsv", GISAID[:2], rows)
    assert choose_id(path, GISAID[:2], headers) == chosen
    assert set(IDS) >= {"virus_name", "accession_id"}


def test_without_a_known_name_any_column_may_hold_the_ids(tmp_path: Path) -> None:
    path = write_table(tmp_path / "m.tsv", ["foo", "bar"], [["1", "x"], ["2", "y"]])
    assert choose_id(path, ["foo", "bar"], ["y", "x"]) == "bar"


def test_an_id_has_one_label_or_none(tmp_path: Path) -> None:
    rows = [
        ["once", "A"], ["twice", "A"], ["twice", "A"], ["torn", "A"], ["torn", "B"], ["torn", "A"],
        ["empty", " "], ["late", ""], ["late", "C"],
    ]  # fmt: skip
    labels = read_labels(write_table(tmp_path / "m.tsv", ["id", "label"], rows), "id", "label")
    assert labels.names == ["A", "B", "C"]
    assert labels.code == {"once": 0, "twice": 0, "torn": CONFLICT, "empty": EMPTY, "late": 2}
    counts = {reason: entry["count"] for reason, entry in labels.ledger.dropped.items()}
    assert labels.ledger.read == 9
    assert counts == {"id repeated with the same label": 1, "id has conflicting labels": 3, "no label": 2}


def test_a_very_wide_table_is_not_listed_whole() -> None:
    with pytest.raises(UserError, match="c29 and 970 more"):
        choose([f"c{i}" for i in range(1000)], None, LABELS, "data.label", "table")
