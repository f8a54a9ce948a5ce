"""The composed task: what decides the label, what one look-up is worth, and the account."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from incrt_cli.config.schema import ComposeData
from incrt_cli.data.build import build_task
from incrt_cli.data.compose import draw_examples
from incrt_cli.errors import UserError


def _compose(**settings: Any) -> ComposeData:
    return ComposeData(kind="compose", **{"keys": 3, "values": 4, "examples": 2000, **settings})


def _read(row: list[int], keys: int, values: int) -> tuple[int, dict[int, int], dict[int, int]]:
    """q, first and second, from the tokens alone."""
    pairs, ends = 2 + keys, 2 + keys + keys * values
    first = {(t - pairs) // values: (t - pairs) % values for t in row[1:] if t < ends}
    second = {(t - ends) // values: (t - ends) % values for t in row[1:] if t >= ends}
    return row[0] - 2, first, second


@pytest.mark.parametrize(("keys", "values"), [(2, 2), (3, 4), (5, 7)])
def test_the_label_is_the_second_look_up_of_the_first(keys: int, values: int) -> None:
    tokens, labels = draw_examples(_compose(keys=keys, values=values))
    for row, label in zip(tokens[:200].tolist(), labels[:200].tolist(), strict=True):
        query, first, second = _read(row, keys, values)
        assert len(row) == 1 + keys + values and 0 <= query < keys
        assert sorted(first) == list(range(keys)) and sorted(second) == list(range(values))
        assert label == second[first[query]]


@pytest.mark.parametrize("lean", [0.0, 0.6])
def test_one_look_up_is_worth_its_lean(lean: float) -> None:
    tokens, labels = draw_examples(_compose(examples=20000, lean=lean))
    guesses = []
    for row in tokens.tolist():
        query, first, _ = _read(row, 3, 4)
        guesses.append(first[query])
    assert np.mean(np.array(guesses) == labels) == pytest.approx(lean + (1 - lean) / 4, abs=0.015)


def test_without_a_lean_no_query_or_first_token_says_anything() -> None:
    tokens, labels = draw_examples(_compose(examples=20000, lean=0.0))
    for token in range(2, 2 + 3 + 12):
        shares = np.bincount(labels[(tokens == token).any(axis=1)], minlength=4) / (tokens == token).sum()
        assert np.abs(shares - 0.25).max() < 0.03


def test_the_same_settings_give_the_same_task_and_another_seed_another() -> None:
    first, second = draw_examples(_compose())[0], draw_examples(_compose())[0]
    assert np.array_equal(first, second)
    assert not np.array_equal(first, draw_examples(_compose(compose_seed=1))[0])


def test_the_task_has_its_splits_and_its_account() -> None:
    lines: list[str] = []
    task = build_task(_compose(test_fraction=0.2), "compose", lines.append)
    assert sum(len(split) for split in task.splits.values()) == 2000
    assert task.vocabulary_size == 2 + 3 + 3 * 4 + 4 * 4
    assert "drawn: 2,000 read, 2,000 kept" in lines


def test_a_lean_of_one_would_make_the_second_look_up_idle() -> None:
    with pytest.raises(ValidationError, match="lean"):
        _compose(lean=1.0)


def test_sequences_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="data.max_tokens"):
        build_task(_compose(max_tokens=7), "compose", lambda _: None)
