"""A seeded SARS-CoV-2-like population as FASTA + GISAID-style metadata. Every name in it is invented.

Variants are independent descendants of one random reference: each has its own substitutions and
deletions. Half of them lie in a spike-like window (21563–25384 of 29,903 nt, scaled to the genome's
length), so that a model that is shown only that region can still tell the variants apart.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from incrt_cli.config.schema import FastaData, SyntheticData
from incrt_cli.data.cache import cache_folder, file_sha256, key_of
from incrt_cli.data.folders import atomic_folder
from incrt_cli.data.variants import Bases, make_variants, sequenced
from incrt_cli.errors import UserError

SEQUENCES, METADATA = "sequences.fasta", "metadata.tsv"
_CHECKSUMS = "sha256.json"
COLUMNS = (
    "Virus name", "Type", "Accession ID", "Collection date", "Location", "Sequence length", "Host", "Clade",
    "Pango lineage", "Variant", "Is complete?", "N-Content", "GC-Content",
)  # fmt: skip
_FIRST_DAY = date(2024, 1, 1)
# What shapes the population; the other keys of the section say how it is read back.
_POPULATION = {
    "variants", "genomes", "genome_length", "substitutions", "deletions",
    "mutation_rate", "ambiguity_rate", "n_runs", "population_seed",
}  # fmt: skip


def write_population(settings: SyntheticData, folder: Path) -> tuple[Path, Path]:
    """Write `sequences.fasta` and `metadata.tsv` to `folder`; the same settings, the same bytes.

    Both appear complete or not at all. Raises UserError when the settings contradict each other
    or the folder cannot be written.
    """
    sequences, metadata = folder / SEQUENCES, folder / METADATA
    halves = [path.with_name(f".{path.name}.part") for path in (sequences, metadata)]
    population = _population(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(population, *halves)
        for half, whole in zip(halves, (sequences, metadata), strict=True):
            half.replace(whole)
    except OSError as error:
        raise UserError(f"cannot write to {folder.absolute()}: {error.strerror}") from error
    finally:
        for half in halves:
            half.unlink(missing_ok=True)
    return sequences, metadata


def cached_population(data: SyntheticData, say: Callable[[str], None]) -> FastaData:
    """The population's files in the cache, written when absent, as the data section that reads them."""
    settings = data.model_dump(include=_POPULATION)
    home = cache_folder(data.cache_dir) / "synthetic" / key_of(settings)
    if not _intact(home):
        say(f"writing {data.genomes:,} synthetic genomes to {home}")
        with atomic_folder(home, lambda: _intact(home)) as temporary:
            checksums = {path.name: file_sha256(path) for path in write_population(data, temporary)}
            (temporary / _CHECKSUMS).write_text(json.dumps(checksums), encoding="utf-8")
    reading = data.model_dump(exclude=_POPULATION | {"kind"})
    return FastaData(
        kind="fasta",
        sequences=str(home / SEQUENCES),
        metadata=str(home / METADATA),
        label="Variant",
        id="Virus name",
        min_joined_fraction=1.0,
        **reading,
    )


def _intact(home: Path) -> bool:
    try:
        checksums = json.loads((home / _CHECKSUMS).read_text(encoding="utf-8"))
        return all(file_sha256(home / name) == checksums[name] for name in (SEQUENCES, METADATA))
    except (OSError, ValueError, KeyError, TypeError, UserError):
        return False


def _write(population: Iterator[tuple[int, Bases]], sequences: Path, metadata: Path) -> None:
    with sequences.open("wb") as fasta, metadata.open("w", encoding="utf-8", newline="") as table:
        rows = csv.DictWriter(table, COLUMNS, delimiter="\t", lineterminator="\n")
        rows.writeheader()
        for number, (variant, genome) in enumerate(population, start=1):
            row = _describe(number, variant, genome)
            header = f">{row['Virus name']}|{row['Accession ID']}|{row['Collection date']}\n"
            fasta.write(header.encode() + genome.tobytes() + b"\n")
            rows.writerow(row)


def _population(settings: SyntheticData) -> Iterator[tuple[int, Bases]]:
    """(variant number from 1, genome), in random order; variants differ mildly in size."""
    if settings.genomes < settings.variants:
        raise UserError(
            f"data.genomes = {settings.genomes} is fewer than data.variants = {settings.variants}: "
            "every variant needs a genome"
        )
    rng = np.random.default_rng(settings.population_seed)
    variants = make_variants(settings, rng)
    weights = rng.uniform(0.5, 1.5, settings.variants)
    sizes = 1 + rng.multinomial(settings.genomes - settings.variants, weights / weights.sum())
    order = rng.permutation(np.repeat(np.arange(settings.variants), sizes)).tolist()
    return ((variant + 1, sequenced(variants[variant], settings, rng)) for variant in order)


def _describe(number: int, variant: int, genome: Bases) -> dict[str, str]:
    share = {letter: float(np.mean(np.isin(genome, list(letter.encode())))) for letter in ("N", "GC")}
    return {
        "Virus name": f"hCoV-19/Synthetica/SYN-{number:06d}/2024",
        "Type": "synthetic",
        "Accession ID": f"EPI_SYN_{number:07d}",
        "Collection date": str(_FIRST_DAY + timedelta(days=number % 366)),
        "Location": "Synthetica / Nowhere",
        "Sequence length": str(len(genome)),
        "Host": "Simulated",
        "Clade": f"SYN-{variant}",
        "Pango lineage": f"SYN.{variant}",
        "Variant": f"Synthetic variant {variant:02d}",
        "Is complete?": "True",
        "N-Content": f"{share['N']:.6f}",
        "GC-Content": f"{share['GC']:.6f}",
    }
