"""The join: every record of both sides is joined or dropped for a stated reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.join import Join
from incrt_cli.data.ledger import Ledger
from incrt_cli.data.match import Matcher, choose_rule
from incrt_cli.data.metadata import read_labels
from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import NUCLEOTIDE
from tests.data.files import write_fasta, write_table

ids = st.sampled_from("abcdef")
sequence_side = st.lists(ids, min_size=1, max_size=12)
table_side = st.lists(st.tuples(ids, st.sampled_from(["", "A", "B"])), min_size=1, max_size=12).filter(
    lambda rows: any(label for _, label in rows)  # a column without any label is refused before the join
)


def make_join(folder: Path, headers: list[str], rows: list[tuple[str, str]]) -> Join:
    sequences = write_fasta(folder / "s.fasta", [(header, "ACGT") for header in headers])
    table = write_table(folder / "m.tsv", ["id", "label"], rows)
    labels = read_labels(table, "id", "label")
    matcher = Matcher(choose_rule(headers, labels), labels, loose=True)
    return Join(sequences, table, labels, matcher, "id", NUCLEOTIDE)


@given(headers=sequence_side, rows=table_side)
def test_on_both_sides_read_is_joined_plus_dropped(
    tmp_path_factory: pytest.TempPathFactory, headers: list[str], rows: list[tuple[str, str]]
) -> None:
    join = make_join(tmp_path_factory.mktemp("join"), headers, rows)
    joined = [(name, join.labels.names[code]) for name, _, code in join]
    labels_of = {name: {label for key, label in rows if key == name and label} for name, _ in rows}
    usable = {name: labels for name, labels in labels_of.items() if len(labels) == 1}
    assert dict(joined) == {name: labels.pop() for name, labels in usable.items() if name in headers}
    assert max(Counter(name for name, _ in joined).values(), default=1) == 1
    if not joined:
        with pytest.raises(UserError):
            join.account(0.0)
        return
    account = join.account(0.0)
    for stage, read in (("sequences", len(headers)), ("metadata", len(rows))):
        ledger = account["stages"][stage]
        dropped = sum(entry["count"] for entry in ledger["dropped"].values())
        assert (ledger["read"], ledger["kept"]) == (read, len(joined)) and read == len(joined) + dropped
        assert all(
            1 <= len(entry["examples"]) <= min(3, entry["count"]) for entry in ledger["dropped"].values()
        )
    assert account["joined_fraction"] == len(joined) / min(len(headers), len(rows))


def test_every_reason_is_counted_with_examples(tmp_path: Path) -> None:
    rows = [("a", "A"), ("b", ""), ("c", "A"), ("c", "B"), *((f"x{i}", "B") for i in range(5))]
    join = make_join(tmp_path, ["a", "a", "b", "c", "q"], rows)
    assert [name for name, _, _ in join] == ["a"]
    stages = join.account(0.1)["stages"]
    assert stages["sequences"]["dropped"] == {
        "id repeated in the FASTA": {"count": 1, "examples": ["a"]},
        "no label": {"count": 1, "examples": ["b"]},
        "id has conflicting labels": {"count": 1, "examples": ["c"]},
        "id not in the metadata": {"count": 1, "examples": ["q"]},
    }
    assert stages["metadata"]["dropped"]["no sequence"] == {"count": 5, "examples": ["x0", "x1", "x2"]}


def test_one_rule_for_the_file_is_the_one_that_joins(tmp_path: Path) -> None:
    headers = ["hCoV-19/a|EPI_1|2020", "hCoV-19/b|EPI_2|2020", "c"]
    join = make_join(tmp_path, headers, [("EPI_1", "A"), ("EPI_2", "B"), ("c", "B")])
    assert join.matcher.rule == "field 2 of the header (cut at |)"
    assert [name for name, _, _ in join] == ["EPI_1", "EPI_2", "c"]


def test_too_few_joined_shows_the_ids_of_both_sides(tmp_path: Path) -> None:
    join = make_join(tmp_path, ["a", "B1", "B2", "B3"], [("a", "A"), ("b1", "A"), ("b2", "B"), ("b3", "B")])
    list(join)
    with pytest.raises(UserError) as error:
        join.account(0.5)
    text = str(error.value)
    assert "only 1 of 4 sequences" in text and "25.0%" in text and "data.id" in text
    assert "a, B1, B2" in text and "a, b1, b2" in text and str(tmp_path / "m.tsv") in text


def test_a_ledger_that_does_not_balance_is_a_bug() -> None:
    ledger = Ledger()
    ledger.read = 2
    ledger.drop("reason", "x")
    with pytest.raises(AssertionError):
        ledger.as_dict()
