"""Which column of a table is meant: the one named in the config, or a known name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from incrt_cli.errors import UserError

# GISAID, Nextstrain, Nextclade, pangolin and common names, the most specific first.
LABELS = (
    "pango_lineage", "nextclade_pango", "lineage", "nextstrain_clade", "clade_nextstrain", "clade",
    "variant", "who_name", "label", "class",
)  # fmt: skip
IDS = (
    "virus_name", "accession_id", "strain", "seqname", "taxon", "name", "gisaid_epi_isl",
    "genbank_accession", "accession", "isolate", "sequence_id", "id",
)  # fmt: skip
_SHOWN = 30
TEXTS = ("sentence", "text", "review", "content", "phrase")
TEXT_LABELS = ("label", "sentiment", "class", "category", "target")


def named(columns: Sequence[str], name: str, key: str, where: str) -> str:
    """`name` itself when it is a column of `where`; UserError with the nearest columns when it is not."""
    if name in columns:
        return name
    folded = {column.casefold(): column for column in columns}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)
    nearest = ", ".join(repr(folded[match]) for match in close) or "none"
    raise UserError(
        f"{where} has no column {name!r} ({key}); nearest: {nearest}.\nIts columns: {_listed(columns)}"
    )


def known(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns whose name is one of `names`, in the order of `names`; case and spaces aside."""
    plain = {column.strip().casefold().replace(" ", "_"): column for column in reversed(columns)}
    return [plain[name] for name in names if name in plain]


def guessed(columns: Sequence[str], names: Sequence[str], key: str, where: str) -> str:
    """The first of `names` that is there; UserError, listing the columns, when none is."""
    found = known(columns, names)
    if not found:
        raise UserError(
            f"{where}: no column has a name that {key} could be guessed from. "
            f"Set {key} to one of: {_listed(columns)}"
        )
    return found[0]


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _SHOWN:,} more" if len(columns) > _SHOWN else ""
    return ", ".join(columns[:_SHOWN]) + more


def choose(columns: Sequence[str], name: str | None, names: Sequence[str], key: str, where: str) -> str:
    """The column that the config's `key` names, or else the guess from `names`; UserError where two have
    that name.
    """
    found = guessed(columns, names, key, where) if name is None else named(columns, name, key, where)
    if columns.count(found) > 1:
        raise UserError(f"{where} has {columns.count(found)} columns {found!r} ({key}): rename all but one")
    return found
