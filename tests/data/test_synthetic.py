"""The synthetic population: seeded, in GISAID's shape, and as the settings describe it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from incrt_cli.config.schema import SyntheticData
from incrt_cli.data.synthetic import FILES, cached_population, write_population
from incrt_cli.data.variants import Bases, make_reference, make_variants, sequenced
from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import NUCLEOTIDE
from incrt_cli.sequences.fasta import read_fasta

SPIKE = slice(21562, 25384)


def settings(**values: Any) -> SyntheticData:
    small = {"variants": 3, "genomes": 40, "genome_length": 2000}
    return SyntheticData.model_validate({"kind": "synthetic", **small, **values})


def variants(chosen: SyntheticData, rng: np.random.Generator) -> list[Bases]:
    return make_variants(make_reference(chosen, rng), chosen, rng)


def test_the_same_settings_give_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in write_population(settings(), tmp_path / "1")]
    again = [path.read_bytes() for path in write_population(settings(), tmp_path / "2")]
    other = [path.read_bytes() for path in write_population(settings(population_seed=1), tmp_path / "3")]
    assert first == again
    assert first[0] != other[0]
    assert sorted(path.name for path in (tmp_path / "1").iterdir()) == sorted(FILES)


def test_headers_and_columns_are_gisaids_and_agree(tmp_path: Path) -> None:
    sequences, metadata, _, _ = write_population(settings(), tmp_path)
    table = pd.read_csv(metadata, sep="\t", dtype=str)
    records = list(read_fasta(sequences, NUCLEOTIDE))
    names = table["Virus name"] + "|" + table["Accession ID"] + "|" + table["Collection date"]
    assert [header for header, _ in records] == names.tolist()
    assert [str(len(sequence)) for _, sequence in records] == table["Sequence length"].tolist()
    assert table["Variant"].nunique() == 3 and table["Virus name"].nunique() == 40
    assert table["Virus name"].str.startswith("hCoV-19/Synthetica/").all()
    share = [sequence.count(b"N") / len(sequence) for _, sequence in records]
    assert np.allclose(table["N-Content"].astype(float), share, atol=1e-6)


def test_half_of_a_variants_substitutions_are_in_the_spike_window() -> None:
    plain = settings(genome_length=29903, variants=2, substitutions=41, deletions=0)
    one, other = variants(plain, np.random.default_rng(0))
    differs = one != other
    assert 0 < differs[SPIKE].sum() <= 2 * 21
    assert abs(differs[SPIKE].sum() - 42) <= 2 and abs(differs.sum() - 82) <= 4


def test_deletions_are_whole_codons_and_the_composition_is_the_virus_own() -> None:
    genomes = variants(settings(genome_length=29903, deletions=4), np.random.default_rng(0))
    assert {(29903 - len(genome)) % 3 for genome in genomes} == {0}
    assert {12 <= 29903 - len(genome) <= 36 for genome in genomes} == {True}
    shares = [np.mean(genomes[0] == ord(letter)) for letter in "ACGT"]
    assert np.allclose(shares, [0.299, 0.184, 0.196, 0.321], atol=0.01)


@pytest.mark.parametrize(
    "values, letters",
    [
        ({"mutation_rate": 0.01, "ambiguity_rate": 0.0, "n_runs": 0}, "ACGT"),
        ({"mutation_rate": 0.0, "ambiguity_rate": 0.01, "n_runs": 0}, "RYSWKM"),
        ({"mutation_rate": 0.0, "ambiguity_rate": 0.0, "n_runs": 3}, "N"),
    ],
)
def test_each_kind_of_noise_changes_letters_to_its_own(values: dict[str, Any], letters: str) -> None:
    noisy, rng = settings(genome_length=29903, **values), np.random.default_rng(0)
    clean = variants(noisy, rng)[0]
    seen = sequenced(clean, noisy, rng)
    changed = seen != clean
    assert set(seen[changed].tobytes().decode()) <= set(letters)
    assert 3 <= changed.sum() <= 3 * 398
    if letters != "N":
        assert abs(changed.sum() - 299) < 60


def test_every_variant_has_genomes_and_their_number_is_exact(tmp_path: Path) -> None:
    _, metadata, _, _ = write_population(settings(variants=20, genomes=25), tmp_path)
    counts = pd.read_csv(metadata, sep="\t")["Variant"].value_counts()
    assert len(counts) == 20 and counts.sum() == 25


@pytest.mark.parametrize(
    "values, complaint",
    [
        ({"genomes": 2}, "fewer than data.variants"),
        ({"genome_length": 200, "substitutions": 100}, "more sites than a genome"),
        (
            {"genome_length": 200, "substitutions": 1, "deletions": 0, "variants": 200, "genomes": 300},
            "no room",
        ),
    ],
)
def test_settings_that_contradict_each_other_write_nothing(
    tmp_path: Path, values: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        write_population(settings(**values), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_cached_population_is_written_once_and_again_when_damaged(tmp_path: Path) -> None:
    said: list[str] = []
    data = settings(cache_dir=str(tmp_path), k=4, stride=2)
    section = cached_population(data, said.append)
    assert (section.k, section.stride, section.label) == (4, 2, "Variant")
    written = Path(section.sequences).read_bytes()
    assert cached_population(data, said.append) == section
    assert len(said) == 1
    Path(section.sequences).write_bytes(written[:-5])
    cached_population(data, said.append)
    assert Path(section.sequences).read_bytes() == written
    assert len(said) == 2
