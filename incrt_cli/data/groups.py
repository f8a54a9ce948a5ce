"""Labels rolled up to coarser groups: lineages to WHO names, or to their parent lineage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.split import LEFT_OUT
from incrt_cli.errors import UserError
from incrt_cli.files.tables import open_rows, read_header

Ints = npt.NDArray[np.int64]
_PANGO = re.compile(r"[A-Z]{1,3}(\.\d+)*")
_DEPTH = 2  # levels of a lineage's name that its parent keeps: B.1 of B.1.1.7


def read_groups(path: Path) -> dict[str, str]:
    """Label → group from the first two columns of a table.

    Raises UserError when the table has fewer columns, or two groups for one label.
    """
    columns, _ = read_header(path)
    if len(columns) < 2:
        raise UserError(f"{path.absolute()} has one column; data.groups needs two: label, group")
    groups: dict[str, str] = {}
    torn: list[str] = []
    with open_rows(path, columns[:2]) as rows:
        for label, group in rows:
            if groups.setdefault(label, group) != group and label not in torn:
                torn.append(label)
    if torn:
        shown = ", ".join(torn[:EXAMPLES])
        raise UserError(f"{path.absolute()} gives {len(torn):,} labels two groups, for example {shown}")
    return groups


def regroup(
    labels: Ints, names: Sequence[str], groups: Mapping[str, str]
) -> tuple[Ints, list[str], dict[str, int]]:
    """Labels as group codes (LEFT_OUT where a label has no group), the groups' names, and the records of
    each label that has none.
    """
    found = sorted({groups[name] for name in names if groups.get(name)})
    code = {name: number for number, name in enumerate(found)}
    table = np.array([code.get(groups.get(name, ""), LEFT_OUT) for name in names], dtype=np.int64)
    counts = np.bincount(labels, minlength=len(names))
    missing = {name: int(counts[i]) for i, name in enumerate(names) if table[i] == LEFT_OUT and counts[i]}
    return table[labels], found, missing


def parent_lineages(names: Sequence[str]) -> dict[str, str]:
    """Lineage → the lineage its name begins with, two levels deep; nothing where names are no lineages."""
    lineages = [name for name in names if _PANGO.fullmatch(name)]
    if len(lineages) * 2 < len(names):
        return {}
    return {name: ".".join(name.split(".")[:_DEPTH]) for name in lineages}
