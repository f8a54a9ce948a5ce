"""The ids of a FASTA header."""

from __future__ import annotations

from incrt_cli.data.headers import header_id, header_ids

GISAID = "hCoV-19/USA/CA 1/2020|EPI_ISL_1|2020-03-24"


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
