"""k-mer tokens against a plain, slow reading of their definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.sequences.alphabet import NUCLEOTIDE, PROTEIN, Alphabet, code
from incrt_cli.sequences.kmer import PADDING, UNKNOWN, KmerEncoder

ALPHABETS = pytest.mark.parametrize(
    ("alphabet", "written", "longest"),
    [(NUCLEOTIDE, "ACGTACGTNRK-*", 13), (PROTEIN, "ACDEFGHIKLMNPQRSTVWYX-", 7)],
)


def slow_tokens(sequence: str, k: int, stride: int, letters: str) -> list[int]:
    """Token 2 + the k-mer's place in the sorted list of all k-mers; 1 if it is not in that list."""
    tokens = []
    for start in range(0, len(sequence) - k + 1, stride):
        places = [letters.find(letter) for letter in sequence[start : start + k]]
        number = sum(place * len(letters) ** power for power, place in enumerate(reversed(places)))
        tokens.append(UNKNOWN if -1 in places else 2 + number)
    return tokens


@ALPHABETS
@given(data=st.data())
def test_tokens_are_as_defined(data: st.DataObject, alphabet: Alphabet, written: str, longest: int) -> None:
    sequence = data.draw(st.text(written, max_size=60))
    k, stride = data.draw(st.integers(1, longest)), data.draw(st.integers(1, 8))
    encoder = KmerEncoder(k, stride, alphabet)
    tokens = encoder.encode(code(sequence.encode(), alphabet))
    assert tokens.dtype == "int32"
    assert tokens.tolist() == slow_tokens(sequence, k, stride, alphabet.letters.decode())
    assert tokens.max(initial=0) < encoder.vocabulary_size == len(alphabet.letters) ** k + 2


@given(length=st.integers(0, 60), k=st.integers(1, 8), stride=st.integers(1, 8), kept=st.integers(0, 60))
def test_covered_letters_are_those_some_kept_kmer_reads(length: int, k: int, stride: int, kept: int) -> None:
    starts = range(0, length - k + 1, stride)[:kept]
    read = {start + offset for start in starts for offset in range(k)}
    assert KmerEncoder(k, stride, NUCLEOTIDE).covered(len(starts)) == len(read)


def test_the_ends_of_the_token_range_leave_padding_and_unknown_free() -> None:
    assert (PADDING, UNKNOWN) == (0, 1)
    assert KmerEncoder(2, 1, NUCLEOTIDE).encode(code(b"AATT", NUCLEOTIDE)).tolist() == [2, 5, 17]
    assert KmerEncoder(8, 8, NUCLEOTIDE).encode(code(b"T" * 8, NUCLEOTIDE)).tolist() == [65537]
    assert KmerEncoder(3, 3, PROTEIN).encode(code(b"AAAYYY", PROTEIN)).tolist() == [2, 8001]
