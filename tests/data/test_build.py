"""`build_task` from files to splits, with its account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from incrt_cli.config.schema import FastaData, SyntheticData
from incrt_cli.data.build import build_task
from incrt_cli.data.summary import summary_lines
from incrt_cli.data.task import SPLITS, Task
from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import NUCLEOTIDE, code
from incrt_cli.sequences.kmer import KmerEncoder
from tests.data.files import genomes

BASES = "ACGT"


def population(count: int, length: int = 30) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list(BASES), length)) for _ in range(count)]
    return [(f"g{i}", sequence, "AB"[i % 2]) for i, sequence in enumerate(sequences)]


def build(data: FastaData | SyntheticData) -> tuple[Task, list[str]]:
    said: list[str] = []
    return build_task(data, "task", said.append), said


def rows_of(task: Task) -> dict[tuple[int, ...], tuple[str, str]]:
    """Tokens of every row -> (split, label)."""
    found = {}
    for name, split in task.splits.items():
        for i in range(len(split)):
            batch = split.batch([i])
            found[tuple(batch.tokens[0].tolist())] = (name, task.labels[int(batch.labels)])
    return found


def test_every_record_arrives_encoded_with_its_own_label(tmp_path: Path) -> None:
    records = population(40)
    task, _ = build(genomes(tmp_path, records))
    encoder, rows = KmerEncoder(3, 3, NUCLEOTIDE), rows_of(task)
    assert {
        tuple(encoder.encode(code(s.encode(), NUCLEOTIDE)).tolist()): label for _, s, label in records
    } == {tokens: label for tokens, (_, label) in rows.items()}
    assert [len(task.splits[name]) for name in SPLITS] == [32, 4, 4]
    assert task.vocabulary_size == 66 and task.max_tokens == 512
    assert task.vocabulary == {
        "kind": "kmer", "k": 3, "stride": 3, "region": None, "max_tokens": 512, "too_long": "error",
        "alphabet": "nucleotide", "gaps": "unknown", "max_unknown": 1.0,
        "alignment": "none", "reference": None, "region_parts": None,
    }  # fmt: skip
    assert all(len(value) == 64 for value in task.sha256.values()) and len(task.sha256) == 2


def test_a_cached_build_says_the_same_account_and_gives_the_same_rows(tmp_path: Path) -> None:
    data = genomes(tmp_path, population(40))
    first, said = build(data)
    again, repeated = build(data)
    assert said[3:] == repeated[1:] == summary_lines(first.summary)
    assert said[2].startswith("encoded rows: ") and repeated[0] == f"{said[2]} (made before)"
    assert first.summary == again.summary == json.loads(json.dumps(again.summary))
    assert rows_of(first) == rows_of(again)


def test_a_changed_file_is_not_taken_from_the_cache(tmp_path: Path) -> None:
    build(genomes(tmp_path, population(40)))
    task, _ = build(genomes(tmp_path, population(20)))
    assert sum(map(len, task.splits.values())) == 20


def test_the_account_follows_every_record_to_its_end(tmp_path: Path) -> None:
    records = [
        *population(20),
        ("short", "ACGTACGTA", "A"),
        ("tiny", "A" * 11 + "C", "rare"),
        ("no", "A", ""),
    ]
    task, said = build(genomes(tmp_path, records, region="3:12", min_class_size=2))
    stages = task.summary["records"]["stages"]
    assert (stages["sequences"]["read"], stages["sequences"]["kept"]) == (23, 22)
    assert stages["encoded"] == {
        "read": 22,
        "kept": 20,
        "dropped": {
            "ends before the region does": {"count": 1, "examples": ["short"]},
            "class smaller than data.min_class_size": {"count": 1, "examples": ["class rare"]},
        },
    }
    assert task.summary["classes_left_out"] == {"rare": 1}
    assert task.summary["bases_lost"] == {"read": 210, "lost": 21, "too_long": 0, "share": 0.1}
    text = "\n".join(said)
    assert "label column: 'lineage' (guessed)" in text and "joined to the whole header" in text
    assert "ends before the region does: 1 (e.g. short)" in text
    assert "data.min_class_size: 1 (e.g. class rare)" in text
    lost = "bases lost to truncation or an incomplete last k-mer, over all encoded records"
    assert f"{lost}: 21 of 210 (10.00%)" in text


def test_duplicates_ignore_case_stay_together_and_are_counted(tmp_path: Path) -> None:
    records = population(30)
    twins = [(f"t{i}", sequence.lower(), label) for i, (_, sequence, label) in enumerate(records)]
    conflict = ("c", records[0][1], "B")
    task, said = build(genomes(tmp_path, [*records, *twins, conflict]))
    assert "whole sequences that repeat another: 31 (kept in one split); with another label: 3" in said
    assert (task.summary["duplicates"], task.summary["conflicts"]) == (31, 3)
    assert {entry["rows"] for entry in task.summary["seen_inputs"].values()} == {0}
    assert task.splits["train"].seen.all()


def test_different_genomes_with_the_same_region_are_marked_as_seen(tmp_path: Path) -> None:
    records = [
        (f"g{i}", "ACGTTT" + sequence, "AB"[i % 2]) for i, (_, sequence, _) in enumerate(population(30))
    ]
    task, said = build(genomes(tmp_path, records, region="1:6"))
    assert task.summary["duplicates"] == 0
    assert task.summary["seen_inputs"]["test"] == {"rows": 3, "of": 3}
    assert task.splits["test"].seen.all()
    seen = "inputs that also occur in training (the region read is identical)"
    assert f"{seen}: validation 3 of 3, test 3 of 3" in said
    assert any(line.startswith("region 1:6 is counted on each sequence as it is") for line in said)


def test_windows_of_a_record_stay_together(tmp_path: Path) -> None:
    task, _ = build(genomes(tmp_path, population(20), max_tokens=4, too_long="window"))
    assert task.summary["splits"]["test"] == {"records": 2, "rows": 6}
    records = [set(split.records.tolist()) for split in task.splits.values()]
    assert sum(map(len, records)) == len(set.union(*records)) == 20
    assert set(task.splits["train"].lengths.tolist()) == {4, 2}


def test_permuted_labels_leave_inputs_splits_and_class_counts_alone(tmp_path: Path) -> None:
    true, _ = build(genomes(tmp_path, population(60), max_tokens=4, too_long="window"))
    control, _ = build(
        genomes(tmp_path, population(60), max_tokens=4, too_long="window", permute_labels=True)
    )
    for name in SPLITS:
        assert (true.splits[name].records == control.splits[name].records).all()
        labels = control.splits[name].labels
        assert np.bincount(labels).tolist() == np.bincount(true.splits[name].labels).tolist()
        windows = [set(labels[control.splits[name].records == r]) for r in control.splits[name].records]
        assert all(len(found) == 1 for found in windows)
        assert (labels != true.splits[name].labels).any()


@pytest.mark.parametrize(
    "settings, complaint",
    [
        ({"max_tokens": 5}, "20 records have more tokens than data.max_tokens = 5; the longest has 10"),
        ({"region": "1:40"}, r"no sequence.*ends before the region does: 20\): check data.region"),
        ({"label": "clade"}, "no column 'clade'"),
        ({"id": "strane"}, "no column 'strane'.*nearest: 'strain'"),
        ({"min_class_size": 11}, r"0 of 2 have at least.*A \(10\), B \(10\)"),
        ({"test_fraction": 0.01}, "no record is left for the test split"),
    ],
)
def test_what_the_user_must_change_is_said_and_nothing_is_left(
    tmp_path: Path, settings: dict[str, Any], complaint: str
) -> None:
    data = genomes(tmp_path, population(20), cache_dir=str(tmp_path / "cache"), **settings)
    with pytest.raises(UserError, match=complaint):
        build(data)
    assert not list(tmp_path.glob("cache/encoded/.*"))


def test_an_absent_file_is_named_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = FastaData(kind="fasta", sequences="none.fasta", metadata="none.tsv")
    with pytest.raises(UserError, match=str(tmp_path / "none.fasta")):
        build(data)


def test_a_long_class_table_is_cut(tmp_path: Path) -> None:
    records = [(name, sequence, f"L{i % 20:02d}") for i, (name, sequence, _) in enumerate(population(80))]
    task, said = build(genomes(tmp_path, records))
    assert len(task.labels) == 20
    assert "  … and 5 more" in said and sum(line.startswith("  L") for line in said) == 15


def test_the_synthetic_population_goes_the_same_way(tmp_path: Path) -> None:
    settings = {"variants": 3, "genomes": 60, "genome_length": 3000, "cache_dir": str(tmp_path)}
    task, said = build(SyntheticData.model_validate({"kind": "synthetic", **settings}))
    assert list(task.labels) == [f"Synthetic variant 0{i}" for i in (1, 2, 3)]
    assert [len(task.splits[name]) for name in SPLITS] == [48, 6, 6]
    assert any(line.startswith("writing 60 synthetic genomes") for line in said)


@pytest.mark.shared_data
def test_the_gisaid_archives(shared_data: Path) -> None:
    folder = shared_data / "sars_cov_2"
    data = FastaData(
        kind="fasta",
        sequences=str(folder / "sequences_fasta_2021_09_09.tar.xz"),
        metadata=str(folder / "metadata_tsv_2021_09_09.tar.xz"),
        label="Pango lineage",
        min_class_size=20,
        region="21563:25384",
        max_tokens=640,
    )
    task, _ = build(data)
    assert task.summary["records"]["joined"] == 3067
    assert task.summary["classes_left_out"].keys().isdisjoint(task.labels) and len(task.labels) == 44
    assert task.summary["lengths"] == {"min": 637, "median": 637.0, "max": 637}
    assert sum(map(len, task.splits.values())) == 2495


@pytest.mark.shared_data
def test_an_aligned_zst_file_with_nextstrain_columns(shared_data: Path) -> None:
    folder = shared_data / "sars_cov_2"
    data = FastaData(
        kind="fasta",
        sequences=str(folder / "pango_consensus.fasta.zst"),
        metadata=str(folder / "pango_consensus.metadata.tsv"),
        max_tokens=5000,
    )
    task, _ = build(data)
    assert task.summary["notes"] == [
        "label column: 'nextstrain_clade' (guessed)",
        "id column: 'strain' (guessed), joined to the whole header",
    ]
    assert task.summary["records"]["stages"]["sequences"]["read"] == 3585
