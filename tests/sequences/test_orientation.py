"""The strand of a sequence, told by the first one."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.sequences.align import reverse_complement
from incrt_cli.sequences.orientation import Orientation
from tests.sequences.genomes import mutated, random_genome


@given(seed=st.integers(0, 2**32))
def test_a_relative_is_told_from_its_reverse_and_a_stranger_is_neither(seed: int) -> None:
    generator = random.Random(seed)
    first = random_genome(generator, 3000)
    relative, _ = mutated(generator, first)
    orientation = Orientation(first)
    assert not orientation.is_reverse(relative)
    assert orientation.is_reverse(reverse_complement(relative))
    assert not orientation.is_reverse(random_genome(generator, 3000))


def test_what_says_nothing_is_not_reverse() -> None:
    palindrome = b"ACGTACGT" * 100
    assert reverse_complement(palindrome) == palindrome
    for sequence in (palindrome, b"", b"ACG", b"N" * 500):
        assert not Orientation(palindrome).is_reverse(sequence)


def test_the_reverse_complement_turns_codes_too() -> None:
    assert reverse_complement(b"AACGTRYKMBVDHSWN-") == b"-NWSDHBVKMRYACGTT"
