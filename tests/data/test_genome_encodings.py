"""Alignment, regions, mutations, proteins and groups, from files to what the model reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from incrt_cli.config.schema import FastaData, SyntheticData
from incrt_cli.data.build import build_task
from incrt_cli.data.task import Task
from incrt_cli.errors import UserError
from tests.data.files import genomes, write_fasta, write_table

RNG = np.random.default_rng(0)
REFERENCE = "".join(RNG.choice(list("ACGT"), 900))
# A deletion of 450 to 455 could not be written as one of 449 to 454.
REFERENCE = REFERENCE[:448] + "A" + REFERENCE[449:454] + "C" + REFERENCE[455:]
GENE = (301, 600)


def other(letter: str) -> str:
    return "ACGT"["ACGT".index(letter) - 1]


def changed(position: int, sequence: str = REFERENCE) -> str:
    """`sequence` with another letter at a 1-based position."""
    return sequence[: position - 1] + other(sequence[position - 1]) + sequence[position:]


def name_of(position: int) -> str:
    return f"{REFERENCE[position - 1]}{position}{other(REFERENCE[position - 1])}"


def build(folder: Path, records: list[tuple[str, str, str]], **settings: Any) -> Task:
    write_fasta(folder / "reference.fasta", [("reference", settings.pop("reference", REFERENCE))])
    (folder / "genes.gff3").write_text(f"##gff-version 3\n.\t.\tgene\t{GENE[0]}\t{GENE[1]}\t.\t+\t.\tID=X\n")
    given = {"reference": str(folder / "reference.fasta"), "genes": str(folder / "genes.gff3")}
    # All in one split: records here repeat each other, and repeats stay together.
    whole = {"validation_fraction": 0.0, "test_fraction": 0.0, "workers": 0, "max_tokens": 400}
    data = genomes(folder, records, **{**given, **whole, **settings})
    return build_task(data, "task", lambda line: None)


def read(task: Task) -> dict[tuple[int, ...], str]:
    """Tokens without padding → label, over all splits."""
    found = {}
    for split in task.splits.values():
        for i in range(len(split)):
            batch = split.batch([i])
            found[tuple(batch.tokens[0].tolist())] = task.labels[int(batch.labels)]
    return found


def two_variants(count: int = 30) -> list[tuple[str, str, str]]:
    """A: position 100 changed; B: 400 changed and 450-455 deleted; each with ends of its own length."""
    b = changed(400)
    b = b[:449] + b[455:]
    return [
        (f"g{i}", ("T" * (i % 7) + changed(100)) if i % 2 else b[i % 5 :], "AB"[i % 2 == 0])
        for i in range(count)
    ]


def test_a_genome_is_read_as_its_mutations_whatever_precedes_them(tmp_path: Path) -> None:
    task = build(tmp_path, two_variants(), encoding="mutations")
    assert set(task.vocabulary["mutations"]) == {name_of(100), name_of(400), "450-455"}
    assert sorted(read(task).values()) == ["A", "B"] and task.vocabulary_size == 6
    assert task.summary["tokens_lost"]["share"] == 0.0


def test_a_gene_is_cut_in_the_reference_frame_of_every_genome(tmp_path: Path) -> None:
    task = build(tmp_path, two_variants(), region="X", k=3, stride=3)
    rows = read(task)
    # A's mutation is outside the gene; B's deletion makes its k-mers unknown and shifts none.
    assert {label: len(tokens) for tokens, label in rows.items()} == {"A": 100, "B": 100}
    a, b = (np.array(next(t for t, label in rows.items() if label == wanted)) for wanted in "AB")
    assert np.flatnonzero(a != b).tolist() == [33, 49, 50, 51] and (b[49:52] == 1).all()


def test_removed_gaps_close_up(tmp_path: Path) -> None:
    rows = read(build(tmp_path, two_variants(), region="X", k=3, stride=3, gaps="remove"))
    assert {label: len(tokens) for tokens, label in rows.items()} == {"A": 100, "B": 98}


def test_a_rare_mutation_is_unknown_and_a_reference_is_one_token(tmp_path: Path) -> None:
    records = [*two_variants(), ("rare", changed(700, changed(100)), "A"), ("same", REFERENCE, "A")]
    task = build(tmp_path, records, encoding="mutations")
    first = task.vocabulary["mutations"].index(name_of(100)) + 3
    assert name_of(700) not in task.vocabulary["mutations"]
    assert {tokens: label for tokens, label in read(task).items() if label == "A"} == {
        (first,): "A", (first, 1): "A", (2,): "A",
    }  # fmt: skip


def test_reverse_complements_are_turned_and_said(tmp_path: Path) -> None:
    turned = str.maketrans("ACGT", "TGCA")
    records = [
        (n, s.translate(turned)[::-1] if i in (3, 8) else s, c) for i, (n, s, c) in enumerate(two_variants())
    ]
    task = build(tmp_path, records, encoding="mutations")
    assert sorted(read(task).values()) == ["A", "B"]
    assert "warning: 2 reverse complements of the reference (e.g. g3, g8), turned" in task.summary["notes"]


def test_what_does_not_align_or_is_mostly_unknown_is_dropped_by_name(tmp_path: Path) -> None:
    noise = "".join(np.random.default_rng(5).choice(list("ACGT"), 900))
    records = [*two_variants(), ("noise", noise, "A"), ("n", "N" * 400 + REFERENCE[400:], "A")]
    dropped = build(tmp_path, records, encoding="mutations", max_unknown=0.3).summary["records"]["stages"]
    assert dropped["encoded"]["dropped"] == {
        "does not align to the reference": {"count": 1, "examples": ["noise"]},
        "more unknown letters than data.max_unknown": {"count": 1, "examples": ["n"]},
    }
    assert dropped["encoded"]["kept"] == 30


def test_processes_and_this_one_encode_alike(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    one, two = (build(tmp_path / str(n), two_variants(80), encoding="mutations", workers=n) for n in (1, 2))
    assert read(one) == read(two) and one.summary == two.summary


def aligned_records() -> list[tuple[str, str, str]]:
    deleted = REFERENCE[:449] + "-" * 6 + REFERENCE[455:]
    return [(f"g{i}", changed(100) if i % 2 else deleted, "AB"[i % 2 == 0]) for i in range(20)]


@pytest.mark.parametrize("encoding", ["kmer", "mutations"])
def test_an_alignment_is_read_in_its_own_columns(tmp_path: Path, encoding: str) -> None:
    task = build(tmp_path, aligned_records(), alignment="file", encoding=encoding, region="400:500")
    assert sorted(read(task).values()) == ["A", "B"]
    if encoding == "mutations":
        assert task.vocabulary["mutations"] == ["450-455"]


def test_a_row_of_another_length_is_no_part_of_the_alignment(tmp_path: Path) -> None:
    records = [*aligned_records(), ("odd", REFERENCE[:-1], "A")]
    with pytest.raises(UserError, match="'odd' has 899 columns and the reference 'reference' 900"):
        build(tmp_path, records, alignment="file", encoding="mutations")


PROTEIN = "MFVFLVLLPLVSSQCVNLTTRTQLPPAYTNSFTRGVYYPDKVFRSSVLHSTQDLFLPFFSNVTWFHAIHVSGTNGTKRFDNPVLPFNDGVYFAS"


@pytest.mark.parametrize(("settings", "size"), [({"k": 2, "stride": 1}, 402), ({"encoding": "mutations"}, 5)])
def test_proteins_are_a_first_class_input(tmp_path: Path, settings: dict[str, Any], size: int) -> None:
    a, b = PROTEIN[:20] + "K" + PROTEIN[21:], PROTEIN[:40] + PROTEIN[42:]
    records = [(f"g{i}", a if i % 2 else b, "AB"[i % 2 == 0]) for i in range(20)]
    task = build(tmp_path, records, alphabet="protein", reference=PROTEIN, **settings)
    assert sorted(read(task).values()) == ["A", "B"] and task.vocabulary_size == size
    if "encoding" in settings:
        assert set(task.vocabulary["mutations"]) == {"R21K", "41-42"}


def test_classes_may_be_the_groups_of_the_labels(tmp_path: Path) -> None:
    records = [(n, s, f"B.{i % 4}") for i, (n, s, _) in enumerate(two_variants(40))]
    groups = write_table(
        tmp_path / "who.tsv", ["lineage", "who"], [("B.0", "Beta"), ("B.1", "Alpha"), ("B.2", "Beta")]
    )
    plain = build(tmp_path, records, encoding="mutations", groups=str(groups))
    assert list(plain.labels) == ["B.0", "B.1", "B.2", "B.3"]
    assert plain.summary["groups"] == {"B.0": "Beta", "B.1": "Alpha", "B.2": "Beta"}
    task = build(tmp_path, records, encoding="mutations", groups=str(groups), predict="group")
    assert list(task.labels) == ["Alpha", "Beta"] and str(groups) in task.sha256
    encoded = task.summary["records"]["stages"]["encoded"]
    assert encoded["dropped"] == {
        "label without a group in data.groups": {"count": 10, "examples": ["label B.3"]}
    }


def test_a_synthetic_population_comes_with_a_reference_to_align_to() -> None:
    shape = {"variants": 2, "genomes": 30, "genome_length": 2000, "deletions": 1}
    noise = {"mutation_rate": 0.0, "ambiguity_rate": 0.0, "n_runs": 0}
    whole = {"validation_fraction": 0.0, "test_fraction": 0.0}
    data = SyntheticData.model_validate(
        {"kind": "synthetic", "encoding": "mutations", "region": "S", **shape, **noise, **whole}
    )
    task = build_task(data, "task", lambda line: None)
    # Half of each variant's twelve substitutions, and no deletion, are in the window.
    assert len(task.vocabulary["mutations"]) == 12 and len(read(task)) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoding": "mutations"}, "data.reference is missing"),
        ({"region": "S"}, "data.genes is missing"),
        ({"region": "S", "genes": "g"}, "needs aligned sequences"),
        (
            {"encoding": "mutations", "reference": "r", "alignment": "none"},
            "needs aligned sequences",
        ),
        ({"predict": "group"}, "data.groups is missing"),
        ({"alphabet": "protein"}, "at most 3"),
    ],
)
def test_settings_that_need_another_say_which(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FastaData.model_validate({"kind": "fasta", "sequences": "s", "metadata": "m", **settings})
