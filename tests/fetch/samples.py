"""Two versions of a file, and what lies in its folder after a download and after half of one."""

from __future__ import annotations

from pathlib import Path

from incrt_cli.fetch.catalogue import Remote
from tests.fetch.server import Site

BODY = b">a\n" + b"ACGT" * 5000
NEWER = b">b\n" + b"TTGC" * 6000
PATH = "/a.fasta"
FINISHED = ["a.fasta", "a.fasta.fetch.json", "a.fasta.sha256"]
INTERRUPTED = ["a.fasta.part", "a.fasta.part.json"]


def remote(site: Site, **known: str) -> Remote:
    return Remote(site.url(PATH), "a.fasta", **known)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
