"""k-mer tokens against a plain, slow reading of their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.data.kmer import KmerEncoder
from incrt_cli.data.limits import LengthLimit
from incrt_cli.errors import UserError

sequences = st.text("ACGTUacgtuNnRYK-?", max_size=60)
sizes = st.integers(1, 8)


def slow_tokens(sequence: str, k: int, stride: int) -> list[int]:
    """Token 2 + the k-mer's place in the sorted list of all k-mers; 1 if it is not in that list."""
    tokens = []
    for start in range(0, len(sequence) - k + 1, stride):
        kmer = sequence[start : start + k].upper().replace("U", "T")
        digits = "".join(str("ACGT".find(letter)) for letter in kmer)
        tokens.append(1 if "-" in digits else 2 + int(digits, 4))
    return tokens


@given(sequence=sequences, k=sizes, stride=sizes)
def test_tokens_are_as_defined(sequence: str, k: int, stride: int) -> None:
    encoder = KmerEncoder(k, stride)
    tokens = encoder.encode(sequence.encode())
    assert tokens.tolist() == slow_tokens(sequence, k, stride)
    assert tokens.max(initial=0) < encoder.vocabulary_size == 4**k + 2


@given(sequence=sequences, k=sizes, stride=sizes, kept=st.integers(0, 60))
def test_covered_bases_are_those_some_kept_kmer_reads(sequence: str, k: int, stride: int, kept: int) -> None:
    starts = range(0, len(sequence) - k + 1, stride)[:kept]
    read = {start + offset for start in starts for offset in range(k)}
    assert KmerEncoder(k, stride).covered(len(starts)) == len(read)


def test_the_ends_of_the_token_range() -> None:
    assert KmerEncoder(2, 1).encode(b"AAtt").tolist() == [2, 5, 17]
    assert KmerEncoder(8, 8).encode(b"T" * 8).tolist() == [65537]


def test_a_region_is_one_based_and_inclusive() -> None:
    encoder = KmerEncoder.from_text(3, 3, "3:8")
    assert encoder.cut(b"NNACGTACNN") == b"ACGTAC"
    assert encoder.cut(b"NNACGTAC") == b"ACGTAC"
    assert encoder.cut(b"NNACGTA") is None
    assert KmerEncoder.from_text(3, 3, None).cut(b"AC") == b"AC"


@given(length=st.integers(0, 50), most=st.integers(1, 20))
def test_windows_are_consecutive_and_lose_nothing(length: int, most: int) -> None:
    rows = LengthLimit(most, "window").rows(np.arange(length, dtype=np.int32), "x")
    assert np.concatenate(rows).tolist() == list(range(length))
    assert all(len(row) == most for row in rows[:-1]) and len(rows[-1]) <= most


def test_truncation_keeps_the_beginning() -> None:
    limit = LengthLimit(4, "truncate")
    assert [row.tolist() for row in limit.rows(np.arange(6, dtype=np.int32), "x")] == [[0, 1, 2, 3]]
    assert limit.too_long == 1


def test_the_error_policy_names_all_that_are_too_long_at_once() -> None:
    limit = LengthLimit(4, "error")
    for number, length in enumerate([4, 5, 9, 6, 7, 3]):
        limit.rows(np.zeros(length, dtype=np.int32), f"genome{number}")
    with pytest.raises(UserError, match="4 records.*longest has 9.*genome1 .5., genome2 .9., genome3 .6."):
        limit.check()
