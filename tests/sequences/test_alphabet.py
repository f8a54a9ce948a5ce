"""What a sequence is made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.sequences.alphabet import NUCLEOTIDE, PROTEIN, Alphabet, Composition, code, composition

BOTH = pytest.mark.parametrize("alphabet", [NUCLEOTIDE, PROTEIN], ids=lambda alphabet: alphabet.name)


@pytest.mark.parametrize(
    ("sequence", "alphabet", "counts"),
    [
        (b"ACGTNNRY-.?E", NUCLEOTIDE, Composition(letters=4, unknown=2, codes=2, gaps=2, other=2)),
        (b"MKXNBZUO-*?", PROTEIN, Composition(letters=3, unknown=1, codes=4, gaps=1, other=2)),
        (b"", PROTEIN, Composition(0, 0, 0, 0, 0)),
    ],
)
def test_letters_are_counted_by_what_they_mean(
    sequence: bytes, alphabet: Alphabet, counts: Composition
) -> None:
    assert composition(code(sequence, alphabet)) == counts


@BOTH
@given(sequence=st.binary(max_size=40))
def test_no_byte_is_lost(alphabet: Alphabet, sequence: bytes) -> None:
    assert sum(composition(code(sequence, alphabet))) == len(sequence)


@BOTH
def test_the_readers_table_changes_case_and_nothing_else_but_u(alphabet: Alphabet) -> None:
    text = bytes(range(32, 127))
    expected = text.upper().replace(b"U", b"T") if alphabet is NUCLEOTIDE else text.upper()
    assert text.translate(alphabet.table) == expected
    assert set(bytes(range(127, 256)).translate(alphabet.table)) == {0}
