"""Ids of two downloads are compared literally first, then by stated rules, and never changed."""

from __future__ import annotations

import pytest

from incrt_cli.data.headers import WHOLE, header_id, header_ids, loosened
from incrt_cli.data.match import (
    ANOTHER_FIELD,
    LOOSELY,
    SEVERAL_ALIKE,
    SEVERAL_FIELDS,
    Match,
    Matcher,
    choose_rule,
)
from incrt_cli.data.metadata import Labels


def table(*ids: str) -> Labels:
    labels = Labels()
    for name in ids:
        labels.add(name, "A")
    return labels


def test_a_header_offers_itself_its_first_word_and_its_fields() -> None:
    assert header_ids("a b|c") == {
        WHOLE: "a b|c",
        "the header's first word": "a",
        "field 1 of the header (cut at |)": "a b",
        "field 2 of the header (cut at |)": "c",
    }
    assert header_id("plain", "field 2 of the header (cut at |)") == "plain"


@pytest.mark.parametrize("name", ["a, b", "it's", "x/y z", "München", "01", "NA", 'q"q', "\u00a0x", ""])
def test_a_literal_id_is_found_as_it_is(name: str) -> None:
    assert Matcher(WHOLE, table(name, "other"), loose=True).find(name) == Match(name, True)


@pytest.mark.parametrize(
    ("in_fasta", "in_table"),
    [
        ("hCoV-19/South Africa/1/2021", "hCoV-19/South_Africa/1/2021"),
        ("hCoV-19/SouthAfrica/1/2021", "South Africa/1/2021"),
        ("South_Africa/1", "hCoV-19/South Africa/1"),
    ],
)
def test_spaces_underscores_and_the_prefix_are_left_aside_where_no_id_is_equal(
    in_fasta: str, in_table: str
) -> None:
    matcher = Matcher(WHOLE, table(in_table), loose=True)
    assert matcher.find(in_fasta) == Match(in_table, True)
    assert matcher.notes() == [f"joined {LOOSELY}: 1 (e.g. {in_fasta} = {in_table})"]
    assert not Matcher(WHOLE, table(in_table), loose=False).find(in_fasta).found


def test_a_literal_id_wins_over_one_that_is_only_alike() -> None:
    matcher = Matcher(WHOLE, table("South Africa/1", "South_Africa/1"), loose=True)
    assert matcher.find("South_Africa/1") == Match("South_Africa/1", True)
    assert matcher.notes() == []


def test_ids_that_are_alike_are_not_guessed_between() -> None:
    matcher = Matcher(WHOLE, table("South Africa/1", "South_Africa/1"), loose=True)
    assert matcher.find("SouthAfrica/1") == Match("SouthAfrica/1", False, SEVERAL_ALIKE)


def test_swapped_fields_are_found_and_said() -> None:
    headers = ["Spike|hCoV-19/a|2020|EPI_1", "Spike|hCoV-19/b|2020|EPI_2", "Spike|EPI_3|hCoV-19/c|2020"]
    labels = table("EPI_1", "EPI_2", "EPI_3")
    matcher = Matcher(choose_rule(headers, labels), labels, loose=True)
    assert matcher.rule == "field 4 of the header (cut at |)"
    assert [matcher.find(header).name for header in headers] == ["EPI_1", "EPI_2", "EPI_3"]
    assert matcher.notes() == [f"joined {ANOTHER_FIELD}: 1 (e.g. {headers[2]} = EPI_3)"]


def test_a_header_that_names_two_rows_is_none_of_them() -> None:
    matcher = Matcher(WHOLE, table("a", "b"), loose=True)
    assert matcher.find("x|a|b") == Match("x|a|b", False, SEVERAL_FIELDS)


def test_case_is_never_left_aside() -> None:
    assert loosened("hCoV-19/A_b c") == "Abc" != loosened("abc")
