"""Alignment gives back the mutations that made a sequence, whichever way it is found."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrt_cli.errors import UserError
from incrt_cli.sequences.align import MinimapAligner, ProteinAligner, as_given, reverse_complement
from incrt_cli.sequences.alphabet import NUCLEOTIDE
from incrt_cli.sequences.blocks import Aligned, Block, left_aligned
from incrt_cli.sequences.fasta import read_fasta
from incrt_cli.sequences.mutations import differences
from incrt_cli.sequences.reference import Reference, read_reference
from tests.sequences.genomes import mutated, random_genome

REFERENCE = Reference("r", random_genome(random.Random(0), 3000))
GENOME = REFERENCE.sequence


@pytest.fixture(scope="module")
def aligner() -> MinimapAligner:
    pytest.importorskip("mappy")
    return MinimapAligner(REFERENCE)


def aligned(aligner: MinimapAligner, sequence: bytes) -> Aligned:
    """Of the two ways to the same columns, both."""
    found = aligner.align(sequence)
    assert found is not None and found == aligner.by_minimap(sequence)
    return found


def mutations(aligned: Aligned, reference: Reference = REFERENCE) -> list[str]:
    return differences(aligned, reference, None, NUCLEOTIDE).mutations


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_mutations_come_back_as_they_were_made(seed: int) -> None:
    pytest.importorskip("mappy")
    generator = random.Random(seed)
    reference = Reference("r", random_genome(generator, 2000))
    sequence, made = mutated(generator, reference.sequence)
    own = MinimapAligner(reference)
    for found in (own.align(sequence), own.by_minimap(sequence), own.align(reverse_complement(sequence))):
        assert found is not None and mutations(found, reference) == made
    assert found.reverse


def test_the_reference_is_its_own_columns(aligner: MinimapAligner) -> None:
    assert aligned(aligner, GENOME) == Aligned(GENOME)
    assert aligned(aligner, reverse_complement(GENOME)) == Aligned(GENOME, reverse=True)


@pytest.mark.parametrize("at", [1, 3, 2996, 2998])
def test_a_mismatch_near_an_end_is_not_lost(aligner: MinimapAligner, at: int) -> None:
    letter = b"C" if GENOME[at : at + 1] != b"C" else b"G"
    sequence = GENOME[:at] + letter + GENOME[at + 1 :]
    assert aligned(aligner, sequence).columns == sequence


def test_ends_that_are_missing_are_unknown_and_what_sticks_out_is_left_out(aligner: MinimapAligner) -> None:
    assert aligned(aligner, GENOME[200:-300]).columns == b"N" * 200 + GENOME[200:-300] + b"N" * 300
    stranger = random_genome(random.Random(9), 80)
    assert aligned(aligner, stranger + GENOME + stranger) == Aligned(GENOME)


@pytest.mark.parametrize(("run", "inside"), [(100, 100), (900, 900), (900, 700), (900, 1000), (90, 84)])
def test_a_run_of_unknown_letters_is_no_deletion_or_insertion(
    aligner: MinimapAligner, run: int, inside: int
) -> None:
    found = aligned(aligner, GENOME[:1000] + b"N" * inside + GENOME[1000 + run :])
    assert found == Aligned(GENOME[:1000] + b"N" * run + GENOME[1000 + run :])


def test_a_long_deletion_is_one(aligner: MinimapAligner) -> None:
    start, end = 1200, 1800
    found = aligned(aligner, GENOME[:start] + GENOME[end:])
    while GENOME[start - 1] == GENOME[end - 1]:
        start, end = start - 1, end - 1
    assert mutations(found) == [f"{start + 1}-{end}"]


def test_letters_that_replace_others_without_likeness_are_unknown(aligner: MinimapAligner) -> None:
    found = aligner.align(GENOME[:1000] + random_genome(random.Random(5), 700) + GENOME[2000:])
    assert found is not None and mutations(found) == []
    assert found.columns[:990] + found.columns[2010:] == GENOME[:990] + GENOME[2010:]
    assert found.columns.count(b"N") > 900


def test_a_relative_as_far_as_one_letter_in_ten_is_aligned(aligner: MinimapAligner) -> None:
    generator = random.Random(7)
    sequence = bytes(letter if generator.random() > 0.1 else generator.choice(b"ACGT") for letter in GENOME)
    found = aligned(aligner, sequence)
    assert sum(a == b for a, b in zip(found.columns, sequence, strict=True)) > 0.98 * len(GENOME)


def test_half_a_chimera_leaves_the_other_half_unknown(aligner: MinimapAligner) -> None:
    found = aligned(aligner, GENOME[:1500] + random_genome(random.Random(4), 1500))
    assert found.columns[:1480] == GENOME[:1480] and found.columns[1520:] == b"N" * 1480


def test_a_repeated_stretch_is_an_insertion(aligner: MinimapAligner) -> None:
    found = aligned(aligner, GENOME[:1500] + GENOME[1400:])
    assert found.columns == GENOME and [len(letters) for _, letters in found.insertions] == [100]


@settings(max_examples=50)
@given(cuts=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3000), st.integers(0, 3000)), max_size=4))
def test_letters_are_neither_invented_nor_moved(
    aligner: MinimapAligner, cuts: list[tuple[int, int, int]]
) -> None:
    query = GENOME
    for kind, a, b in cuts:
        start, end = sorted((a % (len(query) + 1), b % (len(query) + 1)))
        stranger = random_genome(random.Random(a), b % 300)
        inside = [b"", b"N" * (end - start), b"N" * (b % 600), stranger, reverse_complement(query[start:end])]
        query = (
            query[:start] + [*inside, stranger + query[start:end], 2 * query[start:end]][kind] + query[end:]
        )
    for found in filter(None, (aligner.align(query), aligner.by_minimap(query))):
        inserted = dict(found.insertions)
        written = b"".join(letter + inserted.get(at, b"") for at, letter in numbered(found.columns))
        letters = iter(reverse_complement(query) if found.reverse else query)
        assert len(found.columns) == len(GENOME)
        assert all(letter in letters for letter in written.translate(None, b"-N"))


def numbered(columns: bytes) -> Iterator[tuple[int, bytes]]:
    return ((at, columns[at - 1 : at]) for at in range(1, len(columns) + 1))


def test_a_stranger_does_not_align(aligner: MinimapAligner) -> None:
    for sequence in (random_genome(random.Random(1), 3000), b"", b"ACGT", b"N" * 3000):
        assert aligner.align(sequence) is None


def test_an_aligner_travels_to_a_worker(aligner: MinimapAligner) -> None:
    for own in (aligner, ProteinAligner(Reference("S", PEPTIDE))):
        copy = pickle.loads(pickle.dumps(own))
        sequence = PEPTIDE if isinstance(own, ProteinAligner) else GENOME[:2000]
        assert copy.align(sequence) == own.align(sequence) is not None


def test_without_mappy_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mappy", None)
    with pytest.raises(UserError) as error:
        MinimapAligner(REFERENCE)
    assert str(error.value) == "aligning needs the package mappy: pip install 'incrt[align]'"


def test_gaps_in_repeats_go_left() -> None:
    reference = b"GGCACACATT"
    blocks = [Block(0, 0, 6), Block(8, 6, 2)]  # the last CA is deleted
    assert left_aligned(blocks, b"GGCACATT", reference) == [Block(0, 0, 2), Block(4, 2, 6)]
    blocks = [Block(0, 0, 8), Block(8, 10, 2)]  # a CA is inserted behind the last one
    assert left_aligned(blocks, b"GGCACACACATT", reference) == [Block(0, 0, 2), Block(2, 4, 8)]


def test_a_sequence_of_an_alignment_is_taken_as_given_with_gaps_to_the_left() -> None:
    reference = Reference("r", b"GGCACACATT")
    assert as_given("x", b"GGCACA--TT", reference, NUCLEOTIDE).columns == b"GG--CACATT"
    assert as_given("x", b"..CACA--T-", reference, NUCLEOTIDE).columns == b"NNC--ACATN"
    assert as_given("x", b"-" * 10, reference, NUCLEOTIDE).columns == b"N" * 10
    with pytest.raises(UserError) as error:
        as_given("x", b"GG", reference, NUCLEOTIDE)
    assert str(error.value) == (
        "the record 'x' has 2 columns and the reference 'r' 10: the file is not aligned to this reference"
    )


PEPTIDE = b"MFVFLVLLPLVSSQCVNLTTRTQLPPAYTNSFTRGVYYPDKVFRSSVLHSTQDLFLPFFSNVTWFHAIHVSGTNGTKRFDNPVLPFNDGVYFAS"


@pytest.mark.parametrize(
    ("sequence", "columns", "insertions"),
    [
        (PEPTIDE, PEPTIDE, ()),
        (b"X" + PEPTIDE[1:20] + b"W" + PEPTIDE[21:], b"X" + PEPTIDE[1:20] + b"W" + PEPTIDE[21:], ()),
        (PEPTIDE[10:-10], b"X" * 10 + PEPTIDE[10:-10] + b"X" * 10, ()),
        (PEPTIDE[:68] + PEPTIDE[70:], PEPTIDE[:68] + b"--" + PEPTIDE[70:], ()),
        (PEPTIDE[:40] + b"UWW" + PEPTIDE[40:], PEPTIDE, ((40, b"UWW"),)),
    ],
    ids=["itself", "substitutions", "a fragment", "a deletion", "an insertion"],
)
def test_proteins(sequence: bytes, columns: bytes, insertions: tuple[tuple[int, bytes], ...]) -> None:
    assert ProteinAligner(Reference("S", PEPTIDE)).align(sequence) == Aligned(columns, insertions)


def test_a_strange_protein_does_not_align() -> None:
    shuffled = bytes(random.Random(3).sample(PEPTIDE, len(PEPTIDE)))
    for sequence in (shuffled, b"", b"X" * 90):
        assert ProteinAligner(Reference("S", PEPTIDE)).align(sequence) is None


@pytest.mark.shared_data
def test_real_aligned_sequences_come_back_from_their_letters(shared_data: Path) -> None:
    pytest.importorskip("mappy")
    folder = shared_data / "sars_cov_2"
    reference = read_reference(folder / "reference_MN908947.3.fasta", NUCLEOTIDE)
    own = MinimapAligner(reference)
    different = total = 0
    for header, sequence in islice(read_fasta(folder / "pango_consensus.fasta.zst", NUCLEOTIDE), 0, None, 60):
        given_columns = as_given(header, sequence, reference, NUCLEOTIDE).columns
        found = own.align(sequence)
        assert found is not None and not found.reverse
        different += sum(a != b for a, b in zip(found.columns, given_columns, strict=True))
        total += len(given_columns)
    assert total > 1_000_000 and different / total < 1e-4
