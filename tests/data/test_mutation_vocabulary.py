"""Which mutations are known is settled by the training records alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from incrt_cli.data.mutation_vocabulary import learn
from incrt_cli.data.rows import RowWriter, read_rows

# Tokens 2: no difference; 3, 4, 5: the mutations below.
MUTATIONS = ["A1C", "C2T", "G3-"]
ROWS = [[3, 4], [2], [3], [3, 5], [5]]
TRAINING = np.array([True, True, True, False, False])


@pytest.fixture
def rows(tmp_path: Path) -> pa.Table:
    with RowWriter(tmp_path / "rows.arrow", None) as writer:
        for number, tokens in enumerate(ROWS):
            writer.add(np.array(tokens, dtype=np.int32), 0, number, number)
    return read_rows(tmp_path / "rows.arrow")


def test_a_mutation_too_rare_in_training_is_unknown_and_the_others_move_up(rows: pa.Table) -> None:
    learnt = learn(rows, TRAINING, MUTATIONS, minimum=2)
    assert learnt.mutations == ["A1C"] and learnt.size == 4
    assert learnt.lookup.tolist() == [0, 1, 2, 3, 1, 1]


def test_test_records_teach_nothing(rows: pa.Table) -> None:
    assert learn(rows, TRAINING, MUTATIONS, minimum=1).mutations == ["A1C", "C2T"]
    assert learn(rows, ~TRAINING, MUTATIONS, minimum=1).mutations == ["A1C", "G3-"]


def test_rows_are_counted_and_compared_as_the_model_sees_them(rows: pa.Table) -> None:
    learnt = learn(rows, TRAINING, MUTATIONS, minimum=2)
    assert learnt.unknown.tolist() == [1, 0, 0, 1, 1]
    # Rows 0 and 3 differ by mutations that nobody knows; no other two are alike.
    assert learnt.key[0] == learnt.key[3] and len(set(learnt.key.tolist())) == 4


def test_chunks_of_the_file_make_no_difference(
    tmp_path: Path, rows: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incrt_cli.data.rows._FLUSH_ROWS", 2)
    with RowWriter(tmp_path / "small.arrow", None) as writer:
        for number, tokens in enumerate(ROWS):
            writer.add(np.array(tokens, dtype=np.int32), 0, number, number)
    small = read_rows(tmp_path / "small.arrow")
    assert len(small.column("tokens").chunks) == 3
    pairs = zip(learn(small, TRAINING, MUTATIONS, 2), learn(rows, TRAINING, MUTATIONS, 2), strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)
