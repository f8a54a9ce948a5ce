"""Differences in Nextclade's notation, and what is not known."""

from __future__ import annotations

import pytest

from incrt_cli.sequences.alphabet import NUCLEOTIDE
from incrt_cli.sequences.blocks import Aligned
from incrt_cli.sequences.genes import Region
from incrt_cli.sequences.mutations import Differences, differences
from incrt_cli.sequences.reference import Reference

#                            123456789012
REFERENCE = Reference("r", b"ACGTACGTACGT")


def test_every_kind_of_difference_stands_in_the_order_of_the_reference() -> None:
    aligned = Aligned(b"NTG--CRT-CGA", ((2, b"GA"), (9, b"T")))
    assert differences(aligned, REFERENCE, None, NUCLEOTIDE) == Differences(
        ["C2T", "2:GA", "4-5", "9", "9:T", "T12A"], [(1, 1), (7, 7)]
    )


@pytest.mark.parametrize(
    ("parts", "mutations", "unknown"),
    [
        (((2, 4),), ["C2T", "2:GA", "4"], []),
        (((1, 2),), ["C2T"], [(1, 1)]),
        (((2, 3), (8, 12)), ["C2T", "2:GA", "9", "9:T", "T12A"], []),
        (((6, 9), (9, 12)), ["9", "9:T", "T12A"], [(7, 7)]),
    ],
    ids=["a cut deletion", "an insertion beyond the last position", "two parts", "parts that overlap"],
)
def test_a_region_cuts_and_keeps_the_references_positions(
    parts: tuple[tuple[int, int], ...], mutations: list[str], unknown: list[tuple[int, int]]
) -> None:
    aligned = Aligned(b"NTG--CRT-CGA", ((2, b"GA"), (9, b"T")))
    assert differences(aligned, REFERENCE, Region("x", parts), NUCLEOTIDE) == Differences(mutations, unknown)


def test_the_reference_differs_in_nothing_and_an_empty_row_is_all_unknown() -> None:
    assert differences(Aligned(REFERENCE.sequence), REFERENCE, None, NUCLEOTIDE) == Differences([], [])
    assert differences(Aligned(b"N" * 12), REFERENCE, None, NUCLEOTIDE) == Differences([], [(1, 12)])
