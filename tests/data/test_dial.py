"""The dial task: what decides the label, that no token gives it away, and the account."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from incrt_cli.config.schema import DialData
from incrt_cli.data.build import build_task
from incrt_cli.data.dial import draw_examples
from incrt_cli.errors import UserError


def _dial(**settings: Any) -> DialData:
    return DialData(kind="dial", **{"lookups": 3, "examples": 2000, **settings})


@pytest.mark.parametrize("lookups", [1, 3, 9])
def test_the_label_is_what_most_look_ups_say(lookups: int) -> None:
    tokens, labels = draw_examples(_dial(lookups=lookups))
    for row, label in zip(tokens[:200].tolist(), labels[:200].tolist(), strict=True):
        shown = [token - 2 for token in sorted(row) if token < 2 + 4 * lookups]
        assert [token // 2 for token in shown] == list(range(2 * lookups)), "one left, one right of each"
        agree = sum(left % 2 == right % 2 for left, right in zip(shown[::2], shown[1::2], strict=True))
        assert label == (2 * agree > lookups)


def test_no_token_says_anything_about_the_label() -> None:
    tokens, labels = draw_examples(_dial(lookups=3, examples=20000))
    for token in range(2, 14):
        present = (tokens == token).any(axis=1)
        gap = labels[present].mean() - labels[~present].mean()
        assert abs(gap) < 4 * (0.25 / 10000 + 0.25 / 10000) ** 0.5


def test_the_same_settings_give_the_same_task_and_another_seed_another() -> None:
    first, second = draw_examples(_dial())[0], draw_examples(_dial())[0]
    assert np.array_equal(first, second)
    assert not np.array_equal(first, draw_examples(_dial(dial_seed=1))[0])


def test_the_task_has_its_splits_and_its_account() -> None:
    lines: list[str] = []
    task = build_task(_dial(test_fraction=0.2), "dial", lines.append)
    sizes = {name: len(split) for name, split in task.splits.items()}
    assert sum(sizes.values()) == 2000 and abs(sizes["test"] - 400) <= 2
    assert task.vocabulary_size == 2 + 4 * 3 + 16
    assert task.summary["records"]["stages"]["drawn"] == {"read": 2000, "kept": 2000, "dropped": {}}
    assert "drawn: 2,000 read, 2,000 kept" in lines


def test_a_subset_keeps_rows_and_their_records_together() -> None:
    train = build_task(_dial(), "dial", lambda _: None).splits["train"]
    part = train.subset(np.array([5, 2]))
    assert np.array_equal(part.records, train.records[[5, 2]])
    assert part.batch([0]).tokens.tolist() == train.batch([5]).tokens.tolist()


def test_an_even_number_could_tie() -> None:
    with pytest.raises(ValidationError, match="odd"):
        _dial(lookups=4)


def test_sequences_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="data.max_tokens"):
        build_task(_dial(max_tokens=8), "dial", lambda _: None)
