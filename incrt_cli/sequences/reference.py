"""The sequence whose positions count."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import Alphabet, code, composition
from incrt_cli.sequences.fasta import read_fasta


class Reference(NamedTuple):
    name: str
    sequence: bytes


def read_reference(path: Path, alphabet: Alphabet) -> Reference:
    """The only record of a FASTA file.

    Raises UserError when there are more, or when it is empty or holds gaps, which have no position.
    """
    path = path.absolute()
    (name, sequence), *others = islice(read_fasta(path, alphabet), 2)
    if others:
        raise UserError(
            f"{path} holds several records ({name!r}, {others[0][0]!r}), and a reference is one: "
            "keep the one whose positions count"
        )
    counts = composition(code(sequence, alphabet))
    if not counts.letters or counts.gaps:
        what = "gaps" if counts.letters else "no letters"
        raise UserError(f"{path}: the reference {name!r} holds {what}: give it whole and not aligned")
    return Reference(name, sequence)
