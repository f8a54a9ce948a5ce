"""Labels roll up to groups by a table, or to parent lineages by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from incrt_cli.data.groups import parent_lineages, read_groups, regroup
from incrt_cli.data.split import LEFT_OUT
from incrt_cli.errors import UserError
from tests.data.files import write_table


def test_the_first_two_columns_are_label_and_group(tmp_path: Path) -> None:
    rows = [("B.1.1.7", "Alpha", "x"), ("B.1.1.7", "Alpha", "y"), ("AY.4", "Delta", "x")]
    path = write_table(tmp_path / "who.tsv", ["LINEAGE", "WHO", "colour"], rows)
    assert read_groups(path) == {"B.1.1.7": "Alpha", "AY.4": "Delta"}


def test_a_label_in_two_groups_is_named(tmp_path: Path) -> None:
    path = write_table(tmp_path / "who.tsv", ["LINEAGE", "WHO"], [("a", "X"), ("b", "X"), ("a", "Y")])
    with pytest.raises(UserError) as error:
        read_groups(path)
    assert str(error.value) == f"{path} gives 1 labels two groups, for example a"


def test_one_column_is_too_few(tmp_path: Path) -> None:
    path = write_table(tmp_path / "who.tsv", ["LINEAGE"], [("a",)])
    with pytest.raises(UserError, match=r"has one column; data\.groups needs two"):
        read_groups(path)


def test_records_are_regrouped_and_labels_without_a_group_counted() -> None:
    labels = np.array([0, 1, 2, 2, 3])
    grouped, names, missing = regroup(labels, ["a", "b", "c", "d"], {"a": "Y", "b": "X", "d": "Y", "c": ""})
    assert names == ["X", "Y"] and missing == {"c": 2}
    assert grouped.tolist() == [1, 0, LEFT_OUT, LEFT_OUT, 1]


def test_lineages_have_parents_and_other_labels_none() -> None:
    assert parent_lineages(["B.1.1.7", "B.1", "AY.4.2", "B"]) == {
        "B.1.1.7": "B.1", "B.1": "B.1", "AY.4.2": "AY.4", "B": "B",
    }  # fmt: skip
    assert parent_lineages(["Alpha", "Delta variant", "B.1"]) == {}
