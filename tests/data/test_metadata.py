"""The metadata table: which columns, and one label for each id."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.data.columns import IDS, LABELS, choose
from incrt_cli.data.metadata import CONFLICT, EMPTY, Labels, choose_id, read_labels
from incrt_cli.errors import UserError
from tests.data.files import write_table

GISAID = ["Virus name", "Accession ID", "Clade", "Pango lineage", "Variant"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.tsv"


def dropped(labels: Labels) -> dict[str, tuple[int, list[str]]]:
    entries = labels.ledger.dropped
    return {reason: (entry["count"], entry["examples"]) for reason, entry in entries.items()}


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


def test_a_column_that_is_found_in_every_row_is_not_for_that_the_id(path: Path) -> None:
    headers = [f"s{i}|2020-03-24" for i in range(4)]
    rows = [["2020-03-24", "x"]] * 9 + [["2020-03-25", f"s{i}"] for i in range(4)]
    assert choose_id(write_table(path, ["day", "key"], rows), ["day", "key"], headers) == "key"


def test_columns_that_share_a_name_hold_no_ids_by_guess_and_none_by_name(path: Path) -> None:
    write_table(path, ["a", "a", "b"], [["x", "x", "x"]])
    assert choose_id(path, ["a", "a", "b"], ["x"]) == "b"
    with pytest.raises(UserError, match="table has 2 columns 'a' .data.id.: rename all but one"):
        choose(["a", "a", "b"], "a", IDS, "data.id", "table")


def test_an_id_has_one_label_or_none(path: Path) -> None:
    rows = [
        ["once", "A"], ["twice", "A"], ["twice", "A"], ["torn", "A"], ["torn", "B"], ["torn", "A"],
        ["empty", " "], ["late", ""], ["late", "C"],
    ]  # fmt: skip
    labels = read_labels(write_table(path, ["id", "label"], rows), "id", "label")
    assert labels.names == ["A", "B", "C"]
    assert labels.code == {"once": 0, "twice": 0, "torn": CONFLICT, "empty": EMPTY, "late": 2}
    assert labels.ledger.read == 9
    assert dropped(labels) == {
        "id repeated with the same label": (1, ["twice"]),
        "id has conflicting labels": (3, ["torn"]),
        "no label": (2, ["empty", "late"]),
    }


def test_rows_that_cannot_be_used_are_counted_with_their_lines(path: Path) -> None:
    path.write_bytes(
        b'id,note,label\n1,x,A\n2,x\n3,x,A,B\n4,,"B\n5,x,B\n6,x,"\n'  # a quote swallows lines 5 to 7
        b'7,Z\xfcrich,A\n\n8,x,\0\n9,"two\nlines",B\n10,"x,B\n11,x,B\n'
    )
    labels = read_labels(path, "id", "label")
    assert {name: labels.names[code] for name, code in labels.code.items()} == {"1": "A", "7": "A", "9": "B"}
    assert dropped(labels) == {
        "row with 2 cells where the header has 3": (1, ["line 3"]),
        "row with 4 cells where the header has 3": (1, ["line 4"]),
        "a line break in the cell (a stray quote?)": (1, ["4 (3 lines)"]),
        "a NUL byte in the row (a damaged file?)": (1, ["line 10"]),
        "a stray quote": (1, ["lines 13 to 14 (2 lines)"]),
    }
    labels.ledger.kept = len(labels.code)
    assert labels.ledger.as_dict()["read"] == 8
    assert labels.foreign_bytes == 1


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("id\tlabel\n", "has a header and no rows"),
        ("id\tlabel\n1\n2\n", "none of its 2 rows can be used .row with 1 cells where the header has 2: 2"),
        ("id\tid\tlabel\n1\t1\tA\n", "has 2 columns 'id': rename all but one"),
    ],
)
def test_a_table_without_a_usable_row_is_refused(path: Path, content: str, complaint: str) -> None:
    path.write_text(content)
    with pytest.raises(UserError, match=f"{path}:? {complaint}"):
        read_labels(path, "id", "label")


def test_a_very_wide_table_is_not_listed_whole() -> None:
    with pytest.raises(UserError, match="c29 and 970 more"):
        choose([f"c{i}" for i in range(1000)], None, LABELS, "data.label", "table")
