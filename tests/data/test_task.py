"""`EncodedSplit.batch` against padding by hand."""

from __future__ import annotations

import datasets
import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.task import PAD, EncodedSplit

rows = st.lists(st.lists(st.integers(1, 60_000), min_size=1, max_size=9), min_size=1, max_size=12)


def split_of(tokens: list[list[int]]) -> EncodedSplit:
    count = len(tokens)
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("uint16"))})
    return EncodedSplit(
        tokens=datasets.Dataset.from_dict({"tokens": tokens}, features=features),
        lengths=np.array([len(row) for row in tokens], dtype=np.int64),
        labels=np.arange(count) * 10,
        records=np.arange(count),
        seen=np.ones(count, dtype=bool),
    )


@given(tokens=rows, data=st.data())
def test_a_batch_is_the_rows_asked_for_padded_to_the_longest(
    tokens: list[list[int]], data: st.DataObject
) -> None:
    indices = data.draw(st.lists(st.integers(0, len(tokens) - 1), min_size=1, max_size=8))
    batch = split_of(tokens).batch(indices)
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


def test_a_selection_is_indexed_by_its_own_rows_and_may_be_empty() -> None:
    whole = split_of([[1], [2, 3], [4, 5, 6]])
    part = EncodedSplit(
        tokens=whole.tokens.select([2, 0]),
        lengths=whole.lengths[[2, 0]],
        labels=whole.labels[[2, 0]],
        records=whole.records[[2, 0]],
        seen=whole.seen[[2, 0]],
    )
    assert part.batch(np.array([1, 0])).tokens.tolist() == [[1, 0, 0], [4, 5, 6]]
    assert part.batch([]).tokens.shape == (0, 0)
    assert len(part) == 2
