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
    second = {(t - ends) // 2: (t - ends) % 2 for t in row[1:] if t >= ends}
    return row[0] - 2, first, second


@pytest.mark.parametrize(("keys", "values"), [(2, 2), (3, 4), (5, 7)])
def test_the_label_is_the_second_look_up_of_the_first(keys: int, values: int) -> None:
    tokens, labels = draw_examples(_compose(keys=keys, values=values))
    for row, label in zip(tokens[:200].tolist(), labels[:200].tolist(), strict=True):
        query, first, second = _read(row, keys, values)
        assert len(row) == 1 + keys + values and 0 <= query < keys
        assert sorted(first) == list(range(keys)) and sorted(second) == list(range(values))
        assert label == second[first[query]]


def test_one_look_up_is_worth_its_lean() -> None:
    tokens, labels = draw_examples(_compose(examples=20000, lean=0.8))
    guesses = []
    for row in tokens.tolist():
        query, first, _ = _read(row, 3, 4)
        guesses.append(first[query] % 2 == 0)
    assert np.mean(np.array(guesses) == labels) == pytest.approx(0.8, abs=4 * (0.16 / 20000) ** 0.5)


def test_without_a_lean_no_token_says_much() -> None:
    tokens, labels = draw_examples(_compose(examples=20000, lean=0.5, values=8))
    query = tokens[:, 0]
    assert all(abs(labels[query == q].mean() - 0.5) < 0.03 for q in range(2, 5))


def test_the_same_settings_give_the_same_task_and_another_seed_another() -> None:
    first, second = draw_examples(_compose())[0], draw_examples(_compose())[0]
    assert np.array_equal(first, second)
    assert not np.array_equal(first, draw_examples(_compose(compose_seed=1))[0])


def test_the_task_has_its_splits_and_its_account() -> None:
    lines: list[str] = []
    task = build_task(_compose(test_fraction=0.2), "compose", lines.append)
    assert sum(len(split) for split in task.splits.values()) == 2000
    assert task.vocabulary_size == 2 + 3 + 3 * 4 + 2 * 4
    assert "drawn: 2,000 read, 2,000 kept" in lines


def test_a_lean_of_one_would_make_the_second_look_up_idle() -> None:
    with pytest.raises(ValidationError, match="lean"):
        _compose(lean=1.0)


def test_sequences_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="data.max_tokens"):
        build_task(_compose(max_tokens=7), "compose", lambda _: None)
