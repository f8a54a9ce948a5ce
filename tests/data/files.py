"""Small input files for the tests of this room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from incrt_cli.config.schema import FastaData


def write_fasta(path: Path, records: Sequence[tuple[str, str]]) -> Path:
    path.write_text("".join(f">{header}\n{sequence}\n" for header, sequence in records))
    return path


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]], by: str = "\t") -> Path:
    path.write_text("".join(by.join(row) + "\n" for row in [columns, *rows]))
    return path


def genomes(folder: Path, records: Sequence[tuple[str, str, str]], **settings: object) -> FastaData:
    """A data section for (id, sequence, lineage) records, 3-mers unless `settings` say otherwise."""
    sequences = write_fasta(folder / "s.fasta", [(name, sequence) for name, sequence, _ in records])
    table = write_table(
        folder / "m.tsv", ["strain", "lineage"], [(name, label) for name, _, label in records]
    )
    keys = {"k": 3, "stride": 3, "min_class_size": 1, **settings}
    return FastaData.model_validate(
        {"kind": "fasta", "sequences": str(sequences), "metadata": str(table), **keys}
    )
