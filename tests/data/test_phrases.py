"""Phrases of a held-out text are held out with it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.phrases import SHORTEST, STAYS, containment, hold_out

texts = st.lists(st.text("abc", min_size=1, max_size=7).map(" ".join), min_size=1, max_size=25, unique=True)


def contains(outer: str, inner: str) -> bool:
    return inner != outer and f" {inner} " in f" {outer} "


@given(texts)
def test_containment_is_that_of_the_words(texts: list[str]) -> None:
    inner, outer = containment(texts)
    found = set(zip(inner.tolist(), outer.tolist(), strict=True))
    n = range(len(texts))
    assert found == {(i, j) for i in n for j in n if contains(texts[j], texts[i])}


def test_one_huge_text_of_a_repeated_word_takes_linear_time() -> None:
    inner, _ = containment(["word " * 1_000_000, "word word", "other"])
    assert set(inner.tolist()) == {1}


def test_words_are_not_letters() -> None:
    inner, _ = containment(["he sat there", "the he sat therefore", "sat"])
    assert inner.tolist() == [2, 2]


@given(texts=texts, seed=st.integers(0, 3))
def test_no_long_phrase_of_a_held_out_text_stays(texts: list[str], seed: int) -> None:
    part = hold_out(texts, np.zeros(len(texts), np.int64), np.ones(len(texts), np.int64), [0.2, 0.3], seed)
    staying = [text for text, number in zip(texts, part, strict=True) if number == STAYS]
    held = [text for text, number in zip(texts, part, strict=True) if number != STAYS]
    assert not [
        (inner, outer)
        for inner in staying
        if len(inner.split()) >= SHORTEST
        for outer in held
        if contains(outer, inner)
    ]


def test_shares_are_of_rows_and_classes_are_drawn_in_proportion() -> None:
    texts = [f"text number {i} ." for i in range(1000)]
    labels, rows = np.arange(1000) % 4, np.full(1000, 2)
    part = hold_out(texts, labels, rows, [0.1, 0.2], 0)
    for number, size in ((0, 100), (1, 200)):
        chosen = labels[part == number]
        assert len(chosen) == size
        assert np.ptp(np.bincount(chosen, minlength=4)) <= 1


def test_short_phrases_stay_but_short_texts_of_their_own_may_be_drawn() -> None:
    texts = ["a very fine film", "fine film", "dull"]
    drawn = [hold_out(texts, np.zeros(3, np.int64), np.ones(3, np.int64), [0.34], seed) for seed in range(20)]
    assert {part[1] for part in drawn} == {STAYS}
    assert {part[2] for part in drawn} == {STAYS, 0}
