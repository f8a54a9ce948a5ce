"""Gene coordinates from GFF3, and regions named by them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote

from incrt_cli.errors import UserError
from incrt_cli.files.streams import open_text

_NAMES = ("gene_name", "gene", "Name", "ID")  # attributes, the first one present names the gene
_ALIASES = {"spike": "s", "s": "spike"}
_RANGE = re.compile(r"(\d+):(\d+)")


class Gene(NamedTuple):
    """`parts`: 1-based inclusive (start, end), several where the coding sequence is joined."""

    name: str
    parts: tuple[tuple[int, int], ...]
    strand: Literal["+", "-"] = "+"


class Region(NamedTuple):
    """`parts`: 1-based inclusive (start, end), one after the other."""

    name: str
    parts: tuple[tuple[int, int], ...]


def read_genes(path: Path) -> dict[str, Gene]:
    """The genes of a GFF3 file by name. Where a gene has CDS features, these are its parts.

    Raises UserError naming the line that is not GFF3, and when there is no gene.
    """
    path = path.absolute()
    found: dict[str, dict[str, list[tuple[int, int]]]] = {}
    strands: dict[str, Literal["+", "-"]] = {}
    for kind, name, part, strand in _features(path):
        parts = found.setdefault(name, {}).setdefault(kind, [])
        # A feature with several transcripts gives the same part more than once.
        if part not in parts:
            parts.append(part)
        strands[name] = strand
    if not found:
        raise UserError(f"{path} names no gene (a GFF3 line of type gene or CDS with a name)")
    return {
        name: Gene(name, tuple(sorted(kinds.get("CDS") or kinds["gene"])), strands[name])
        for name, kinds in found.items()
    }


def _features(path: Path) -> Iterator[tuple[str, str, tuple[int, int], Literal["+", "-"]]]:
    with open_text(path, "table") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith(("##FASTA", ">")):
                return
            if line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) != 9:
                raise UserError(
                    f"{path}, line {number}: GFF3 has 9 columns cut by tabs, this line has {len(fields)}"
                )
            if fields[2] in ("gene", "CDS") and (name := _name(fields[8])):
                yield fields[2], name, _part(fields, path, number), "-" if fields[6] == "-" else "+"


def _name(attributes: str) -> str | None:
    pairs = (field.strip().partition("=") for field in attributes.split(";"))
    values = {key: unquote(value) for key, _, value in pairs if value}
    return next((values[key] for key in _NAMES if key in values), None)


def _part(fields: list[str], path: Path, number: int) -> tuple[int, int]:
    start, end = fields[3:5]
    if not (start.isdecimal() and end.isdecimal() and 1 <= int(start) <= int(end)):
        raise UserError(f"{path}, line {number}: {start!r} to {end!r} is no range of positions")
    return int(start), int(end)


def resolve_region(region: str, genes: Mapping[str, Gene], reference_length: int) -> Region:
    """A range "start:end" (1-based, inclusive) or the name of a gene, upper and lower case alike.

    Raises UserError for an unknown name, with the nearest ones, and when the reference ends before it.
    """
    if match := _RANGE.fullmatch(region.strip()):
        start, end = int(match[1]), int(match[2])
        if not 1 <= start <= end:
            raise UserError(f"region {region!r}: it runs from its start, 1 or more, to its end")
        resolved = Region(region.strip(), ((start, end),))
    else:
        gene = _gene(region.strip(), genes)
        resolved = Region(gene.name, gene.parts)
    last = max(end for _, end in resolved.parts)
    if last > reference_length:
        raise UserError(f"region {region!r} ends at {last}, and the reference at {reference_length}")
    return resolved


def _gene(name: str, genes: Mapping[str, Gene]) -> Gene:
    by_name = {known.lower(): gene for known, gene in genes.items()}
    wanted = name.lower()
    gene = by_name.get(wanted) or by_name.get(_ALIASES.get(wanted, ""))
    if gene is None:
        near = difflib.get_close_matches(wanted, by_name, n=1)
        hint = f"; did you mean {by_name[near[0]].name}?" if near else ""
        known = f"the genes are {', '.join(genes)}" if genes else "no genes are given"
        raise UserError(f"region {name!r} is neither start:end nor a gene: {known}{hint}")
    return gene
