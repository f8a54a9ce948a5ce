"""Rows that come and go within a storage."""

from __future__ import annotations

import pytest
import torch

from incrt_cli.model.rows import append_rows, capacity, drop_row


def _rows(count: int) -> torch.Tensor:
    return torch.arange(3.0 * count).reshape(count, 3)


def test_a_full_storage_doubles_and_the_next_rows_find_room() -> None:
    rows = _rows(4)
    longer = append_rows(rows, torch.full((1, 3), 7.0))
    assert capacity(longer) == 8 and torch.equal(longer[:4], _rows(4)) and bool((longer[4] == 7.0).all())
    fuller = append_rows(longer, torch.full((3, 3), 8.0))
    assert fuller.data_ptr() == longer.data_ptr() and torch.equal(fuller[:5], longer)
    assert len(append_rows(rows, _rows(20))) == 24, "more than twice as many at once"


@pytest.mark.parametrize("index", [0, 2, 4])
def test_a_dropped_row_makes_room_and_moves_the_ones_behind_up(index: int) -> None:
    rows, kept = _rows(5), [i for i in range(5) if i != index]
    left = drop_row(rows, index)
    assert torch.equal(left, _rows(5)[kept]) and left.data_ptr() == rows.data_ptr() and capacity(left) == 5


def test_what_does_not_begin_its_storage_or_is_not_contiguous_has_no_room() -> None:
    for rows in (_rows(4)[1:3], _rows(4).T, _rows(4)[:, :2]):
        assert capacity(rows) == len(rows)
        before = rows.clone()
        longer = append_rows(rows, torch.zeros(1, rows.shape[1]))
        assert longer.data_ptr() != rows.data_ptr() and torch.equal(longer[:-1], before)
