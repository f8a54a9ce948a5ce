"""FASTA records and the ids of their headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.data.fasta import first_headers, header_id, header_ids, read_fasta
from incrt_cli.errors import UserError

GISAID = "hCoV-19/USA/CA 1/2020|EPI_ISL_1|2020-03-24"


def test_wrapped_lines_blank_lines_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "s.fasta"
    path.write_bytes(b"\n>a one\r\nACgt\r\n\r\nNN\r\n>b\nAC GT\n>c\n")
    assert list(read_fasta(path)) == [("a one", "ACgtNN"), ("b", "ACGT"), ("c", "")]
    assert first_headers(path, 2) == ["a one", "b"]


def test_a_file_without_records_is_no_fasta(tmp_path: Path) -> None:
    path = tmp_path / "s.fasta"
    path.write_text("strain\tlineage\n")
    with pytest.raises(UserError, match=f"{path} holds no FASTA record"):
        list(read_fasta(path))


def test_a_header_offers_itself_its_first_word_and_its_fields() -> None:
    assert list(header_ids(GISAID).values()) == [
        GISAID, "hCoV-19/USA/CA", "hCoV-19/USA/CA 1/2020", "EPI_ISL_1", "2020-03-24",
    ]  # fmt: skip
    assert set(header_ids("NC_045512.2 Wuhan").values()) == {"NC_045512.2 Wuhan", "NC_045512.2"}


def test_a_rule_takes_the_same_part_of_every_header() -> None:
    rule = next(rule for rule, key in header_ids(GISAID).items() if key == "EPI_ISL_1")
    assert header_id("x|EPI_ISL_2|y", rule) == "EPI_ISL_2"
    assert header_id("no fields", rule) == "no fields"
    assert header_ids("")["the header's first word"] == ""
