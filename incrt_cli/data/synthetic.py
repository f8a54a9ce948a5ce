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
from typing import Literal

import numpy as np

from incrt_cli.config.schema import FastaData, SyntheticData
from incrt_cli.data.cache import cache_folder, key_of
from incrt_cli.data.variants import Bases, make_reference, make_variants, sequenced, spike_window
from incrt_cli.errors import UserError
from incrt_cli.files.checksums import file_sha256
from incrt_cli.files.folders import atomic_folder

SEQUENCES, METADATA = "sequences.fasta", "metadata.tsv"
REFERENCE, GENES = "reference.fasta", "genes.gff3"
FILES = (SEQUENCES, METADATA, REFERENCE, GENES)
_REFERENCE_NAME = "SYN-reference"
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


def write_population(settings: SyntheticData, folder: Path) -> list[Path]:
    """Write FILES to `folder` and return their paths; the same settings, the same bytes.

    All appear complete or none. Raises UserError when the settings contradict each other or the
    folder cannot be written.
    """
    wholes = [folder / name for name in FILES]
    halves = [path.with_name(f".{path.name}.part") for path in wholes]
    rng = np.random.default_rng(settings.population_seed)
    reference = make_reference(settings, rng)
    population = _population(reference, settings, rng)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(population, *halves[:2])
        _write_reference(reference, *halves[2:])
        for half, whole in zip(halves, wholes, strict=True):
            half.replace(whole)
    except OSError as error:
        raise UserError(f"cannot write to {folder.absolute()}: {error.strerror}") from error
    finally:
        for half in halves:
            half.unlink(missing_ok=True)
    return wholes


def cached_population(data: SyntheticData, say: Callable[[str], None]) -> FastaData:
    """The population's files in the cache, written when absent, as the data section that reads them."""
    settings = data.model_dump(include=_POPULATION)
    home = cache_folder(data.cache_dir) / "synthetic" / key_of(settings)
    if not _intact(home):
        say(f"writing {data.genomes:,} synthetic genomes to {home}")
        with atomic_folder(home, lambda: _intact(home)) as temporary:
            checksums = {path.name: file_sha256(path) for path in write_population(data, temporary)}
            (temporary / _CHECKSUMS).write_text(json.dumps(checksums), encoding="utf-8")
    reading = data.model_dump(exclude=_POPULATION | {"kind", "alignment", "shift"})
    # Raw coordinates unless asked otherwise: aligning needs a package that the default does without.
    gene = data.region is not None and ":" not in data.region
    by_default: Literal["reference", "none"] = "reference" if data.encoding == "mutations" or gene else "none"
    return FastaData(
        kind="fasta",
        sequences=str(home / SEQUENCES),
        metadata=str(home / METADATA),
        label="Variant",
        id="Virus name",
        reference=str(home / REFERENCE),
        genes=str(home / GENES),
        alignment=data.alignment or by_default,
        min_joined_fraction=1.0,
        **reading,
    )


def _intact(home: Path) -> bool:
    try:
        checksums = json.loads((home / _CHECKSUMS).read_text(encoding="utf-8"))
        return all(file_sha256(home / name) == checksums[name] for name in FILES)
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


def _write_reference(reference: Bases, fasta: Path, genes: Path) -> None:
    fasta.write_bytes(f">{_REFERENCE_NAME}\n".encode() + reference.tobytes() + b"\n")
    start, end = spike_window(len(reference))
    fields = (_REFERENCE_NAME, "incrt", "gene", str(start), str(end), ".", "+", ".", "ID=S;Name=S")
    genes.write_text("##gff-version 3\n" + "\t".join(fields) + "\n", encoding="ascii")


def _population(
    reference: Bases, settings: SyntheticData, rng: np.random.Generator
) -> Iterator[tuple[int, Bases]]:
    """(variant number from 1, genome), in random order; variants differ mildly in size."""
    if settings.genomes < settings.variants:
        raise UserError(
            f"data.genomes = {settings.genomes} is fewer than data.variants = {settings.variants}: "
            "every variant needs a genome"
        )
    variants = make_variants(reference, settings, rng)
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
