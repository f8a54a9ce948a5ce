"""Labels roll up to groups by a table, or to parent lineages by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from incrt_cli.data.groups import parent_lineages, read_groups, regroup
from incrt_cli.data.split import LEFT_OUT
from incrt_cli.errors import UserError
from tests.data.files import write_table


def test_the_label_column_is_the_one_that_holds_the_labels(tmp_path: Path) -> None:
    rows = [("Alpha", "B.1.1.7", "VOC"), ("Alpha", "Q.3", "VOC"), ("Delta", "AY.4", "VOC")]
    path = write_table(tmp_path / "who.tsv", ["WHO_LABEL", "member", "kind"], rows)
    groups = read_groups(path, ["Q.3", "AY.4", "B"], None)
    assert groups.of == {"B.1.1.7": "Alpha", "Q.3": "Alpha", "AY.4": "Delta"}
    assert groups.by == f"by column 'member' → 'WHO_LABEL' of {path}"
    assert set(read_groups(path, ["Q.3"], "kind").of.values()) == {"VOC"}


@pytest.mark.parametrize(
    ("columns", "rows", "group", "message"),
    [
        (["l", "who"], [("a", "X"), ("a", "Y")], None, "{} gives two groups in column 'who' to 1 labels"),
        (["l"], [("a",)], None, "{} has one column; data.groups needs two: label and group"),
        (["l", "who"], [("c", "X")], None, "{} (data.groups) holds none of the labels, such as a, b"),
        (["l", "who"], [("a", "X")], "whom", "{} has no column 'whom' (data.group); nearest: 'who'"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_is_named(
    tmp_path: Path, columns: list[str], rows: list[tuple[str, ...]], group: str | None, message: str
) -> None:
    path = write_table(tmp_path / "who.tsv", columns, rows)
    with pytest.raises(UserError) as error:
        read_groups(path, ["a", "b"], group)
    assert str(error.value).startswith(message.format(path))


def test_records_are_regrouped_and_labels_without_a_group_counted() -> None:
    labels, names = np.array([0, 1, 2, 2, 3]), ["a", "b", "c", "d"]
    groups = {"a": "Y", "b": "X", "d": "Y", "c": ""}
    grouped, found, missing = regroup(labels, names, groups, None)
    assert found == ["X", "Y"] and missing == {"c": 2}
    assert grouped.tolist() == [1, 0, LEFT_OUT, LEFT_OUT, 1]
    grouped, found, missing = regroup(labels, names, groups, "rest")
    assert found == ["X", "Y", "rest"] and missing == {"c": 2} and grouped.tolist() == [1, 0, 2, 2, 1]


def test_lineages_have_parents_and_other_labels_none() -> None:
    assert parent_lineages(["B.1.1.7", "B.1", "AY.4.2", "B"]) == {
        "B.1.1.7": "B.1", "B.1": "B.1", "AY.4.2": "AY.4", "B": "B",
    }  # fmt: skip
    assert parent_lineages(["Alpha", "Delta variant", "B.1"]) == {}
