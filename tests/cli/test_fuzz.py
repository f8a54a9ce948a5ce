"""Damaged and strange inputs: the command ends with 0 or 2, never with a traceback, and never hangs."""

from __future__ import annotations

import faulthandler
import random
from pathlib import Path

import pytest

from incrt_cli.cli.main import run
from tests.files.packing import PACKERS, tar

CASES = 200
SECONDS = 60.0  # of one case: a hang, not a slow machine
ODD = [
    b"\0",
    b">",
    b"\n",
    b"\r",
    b"\t",
    b'"',
    b",",
    b"|",
    b"\xff",
    "é".encode("utf-16"),
    b"*",
    b"-",
    b"@",
    b"  ",
]


SETTINGS = ["stride: 3", "region: 3:20", "alphabet: protein", "alignment: file", "gaps: remove"]


def genomes() -> bytes:
    letters = "ACGT"
    lines = [f">g{i}|EPI_{i}|2021\n{letters[i % 4]}{letters[i // 4]}{'ACGGTTAC' * 4}\n" for i in range(12)]
    return "".join(lines).encode()


def labels() -> bytes:
    return b"strain\tlineage\n" + b"".join(b"g%d\tB.%d\n" % (i, i % 2) for i in range(12))


def damaged(content: bytes, chance: random.Random) -> bytes:
    """One to four cuts, flips, insertions, repetitions or swaps."""
    for _ in range(chance.randint(1, 4)):
        start, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
        kind = chance.randrange(5)
        if kind == 0:
            content = content[:start] + content[end:]
        elif kind == 1 and content:
            at = chance.randrange(len(content))
            content = content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]
        elif kind == 2:
            content = content[:start] + chance.choice(ODD) * chance.randint(1, 3) + content[start:]
        elif kind == 3:
            content = content[:end] + content[start:]
        else:
            content = content[end:] + content[:start]
    return content


def packed(content: bytes, name: str, chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        content = tar({"readme.txt": b"terms", name: content})
    return PACKERS[chance.choice(sorted(PACKERS))](content)


@pytest.mark.parametrize("seed", range(CASES))
def test_a_damaged_input_is_used_or_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], seed: int
) -> None:
    chance = random.Random(seed)
    for name, content in (("s.fasta", genomes()), ("m.tsv", labels())):
        if chance.random() < 0.5:
            content = damaged(content, chance)
        content = packed(content, name, chance)
        if chance.random() < 0.3:
            content = damaged(content, chance)
        (tmp_path / name).write_bytes(content)
    config = tmp_path / "c.yaml"
    config.write_text(
        f"name: fuzz\ndata:\n  kind: fasta\n  k: 3\n  min_joined_fraction: 0.1\n  {chance.choice(SETTINGS)}\n"
        f"  sequences: {tmp_path / 's.fasta'}\n  metadata: {tmp_path / 'm.tsv'}\n"
    )
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        code = run(["data", "check", str(config), "--no-estimate"])
    finally:
        faulthandler.cancel_dump_traceback_later()
    printed = capfd.readouterr()
    assert code in (0, 2), printed.err
    assert "Traceback" not in printed.err + printed.out
    assert code == 0 or printed.err.strip()
