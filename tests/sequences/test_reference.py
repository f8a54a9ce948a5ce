"""A reference is one record, whole and without gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import NUCLEOTIDE
from incrt_cli.sequences.reference import Reference, read_reference


def test_the_only_record_is_the_reference(tmp_path: Path) -> None:
    path = tmp_path / "r.fasta"
    path.write_text(">MN908947.3 whole\nACgu\nA\n")
    assert read_reference(path, NUCLEOTIDE) == Reference("MN908947.3 whole", b"ACGTA")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nA\n>b\nC\n>c\nG\n", " holds several records ('a', 'b'), and a reference is one: keep the one "
         "whose positions count"),
        (">a\nNN\n", ": the reference 'a' holds no letters: give it whole and not aligned"),
        (">a\nAC-GT\n", ": the reference 'a' holds gaps: give it whole and not aligned"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.fasta"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        read_reference(path, NUCLEOTIDE)
    assert str(error.value) == f"{path}{message}"
