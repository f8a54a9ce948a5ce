"""`EncodedSplit.batch` against padding by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.rows import RowWriter, read_rows
from incrt_cli.data.task import PAD, EncodedSplit
from incrt_cli.data.token_rows import TokenRows

row = st.lists(st.integers(1, 60_000), max_size=9)
chunks = st.lists(st.lists(row, max_size=6), min_size=1, max_size=4).filter(any)


def split_of(parts: list[list[list[int]]], lookup: np.ndarray | None = None) -> EncodedSplit:
    """`parts` as the chunks of a column; what is cut off in front of each leaves its offsets behind."""
    kind = pa.list_(pa.uint16())
    column = pa.chunked_array([pa.array([[7, 7, 7], *part], kind)[1:] for part in parts], kind)
    tokens = [row for part in parts for row in part]
    return EncodedSplit(
        tokens=TokenRows(column),
        lengths=np.array([len(row) for row in tokens], dtype=np.int64),
        labels=np.arange(len(tokens)) * 10,
        records=np.arange(len(tokens)),
        seen=np.ones(len(tokens), dtype=bool),
        lookup=lookup,
    )


@given(parts=chunks, data=st.data(), coded=st.booleans())
def test_a_batch_is_the_rows_asked_for_padded_to_the_longest(
    parts: list[list[list[int]]], data: st.DataObject, coded: bool
) -> None:
    tokens = [row for part in parts for row in part]
    indices = data.draw(st.lists(st.integers(0, len(tokens) - 1), min_size=1, max_size=8))
    lookup = np.arange(60_001, dtype=np.int32) // 7 + 1 if coded else None
    batch = split_of(parts, lookup).batch(indices)
    if lookup is not None:
        tokens = [lookup[row].tolist() for row in tokens]
    longest = max(len(tokens[i]) for i in indices)
    assert batch.tokens.tolist() == [tokens[i] + [PAD] * (longest - len(tokens[i])) for i in indices]
    assert batch.mask is not None
    assert batch.mask.tolist() == [[j < len(tokens[i]) for j in range(longest)] for i in indices]
    assert batch.labels.tolist() == [10 * i for i in indices]
    assert (batch.tokens.dtype, batch.mask.dtype, batch.labels.dtype) == (
        torch.int64,
        torch.bool,
        torch.int64,
    )


@given(parts=chunks, data=st.data())
def test_a_subset_of_a_subset_has_its_rows_in_the_order_asked_for(
    parts: list[list[list[int]]], data: st.DataObject
) -> None:
    tokens = [row for part in parts for row in part]
    picks = st.lists(st.integers(0, len(tokens) - 1), min_size=1, max_size=8)
    first = np.array(data.draw(picks))
    second = np.array(data.draw(st.lists(st.integers(0, len(first) - 1), min_size=1, max_size=8)))
    part = split_of(parts).subset(first).subset(second)
    stored, lengths = part.tokens.gather(np.arange(len(part)))
    wanted = [tokens[i] for i in first[second]]
    assert stored.tolist() == [token for row in wanted for token in row]
    assert lengths.tolist() == part.lengths.tolist() == [len(row) for row in wanted]
    assert part.labels.tolist() == [10 * i for i in first[second]]


def test_no_rows_make_an_empty_batch() -> None:
    assert split_of([[[1], [2, 3]]]).batch([]).tokens.shape == (0, 0)
    nothing = split_of([[[1]]]).subset(np.array([], dtype=np.int64))
    assert len(nothing) == 0 and nothing.batch([]).labels.shape == (0,)


def test_tokens_are_read_where_they_lie_and_none_before_they_are_asked_for(tmp_path: Path) -> None:
    """Memory does not grow with the file, only with what a batch reads."""
    with RowWriter(tmp_path / "rows.arrow", 1 << 16) as writer:
        for number in range(4):
            writer.add(np.full(1_000_000, 2 + number), 0, number, number)
    before = pa.total_allocated_bytes()
    rows = TokenRows(read_rows(tmp_path / "rows.arrow").column("tokens"))
    assert pa.total_allocated_bytes() - before < 100_000
    assert not any(values.flags.owndata or values.flags.writeable for values in rows._values)
    assert set(rows.gather(np.array([2]))[0].tolist()) == {4}
