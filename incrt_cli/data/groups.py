"""Labels rolled up to coarser groups: lineages to WHO names by a table, or by their own names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrt_cli.data import columns as column_names
from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.split import LEFT_OUT
from incrt_cli.errors import UserError
from incrt_cli.files.tables import open_rows, read_header

Ints = npt.NDArray[np.int64]
_PANGO = re.compile(r"[A-Z]{1,3}(\.\d+)*")
_DEPTH = 2  # parts of a lineage's name: B.1 of B.1.1.7


class Groups(NamedTuple):
    """`of`: label → group; `by`: the columns it is from, for the account."""

    of: dict[str, str]
    by: str


def read_groups(path: Path, names: Collection[str], group: str | None) -> Groups:
    """Label → group from a table: its label column is the one that holds most of `names`.

    The group column is `group`, else one of a known name, else the first other one. Raises UserError
    when the table has no such column or gives a label two groups.
    """
    where = str(path.absolute())
    columns, _ = read_header(path)
    label = _label_column(path, columns, names)
    others = [column for column in columns if column != label]
    if not others:
        raise UserError(f"{where} has one column; data.groups needs two: label and group")
    if group is None:
        group = (column_names.known(others, column_names.GROUPS) or others)[0]
    else:
        group = column_names.named(columns, group, "data.group", where)
    return Groups(_pairs(path, label, group), f"by column {label!r} → {group!r} of {where}")


def _label_column(path: Path, columns: Sequence[str], names: Collection[str]) -> str:
    wanted, held = set(names), [set[str]() for _ in columns]
    with open_rows(path, columns) as rows:
        for row in rows:
            for found, cell in zip(held, row, strict=True):
                if cell in wanted:
                    found.add(cell)
    if not any(held):
        shown = ", ".join(list(names)[:EXAMPLES])
        raise UserError(f"{path.absolute()} (data.groups) holds none of the labels, such as {shown}")
    return columns[max(range(len(columns)), key=lambda i: len(held[i]))]


def _pairs(path: Path, label: str, group: str) -> dict[str, str]:
    groups: dict[str, str] = {}
    torn: list[str] = []
    with open_rows(path, (label, group)) as rows:
        for name, value in rows:
            if groups.setdefault(name, value) != value and name not in torn:
                torn.append(name)
    if torn:
        shown = ", ".join(torn[:EXAMPLES])
        raise UserError(
            f"{path.absolute()} gives two groups in column {group!r} to {len(torn):,} labels, such as {shown}"
        )
    return groups


def regroup(
    labels: Ints, names: Sequence[str], groups: Mapping[str, str], rest: str | None
) -> tuple[Ints, list[str], dict[str, int]]:
    """Labels as group codes, the groups' names, and the records of each label without a group.

    These records get the group `rest`, or LEFT_OUT where it is None.
    """
    group_of = [groups.get(name) or rest for name in names]
    found = sorted({group for group in group_of if group is not None})
    code = {name: number for number, name in enumerate(found)}
    table = np.array([LEFT_OUT if g is None else code[g] for g in group_of], dtype=np.int64)
    counts = np.bincount(labels, minlength=len(names))
    missing = {name: int(counts[i]) for i, name in enumerate(names) if not groups.get(name) and counts[i]}
    return table[labels], found, dict(sorted(missing.items(), key=lambda item: -item[1]))


def parent_lineages(names: Sequence[str]) -> dict[str, str]:
    """Lineage → the first two parts of its name; nothing where names are no lineages.

    Aliases are not resolved: AY.4 does not show that it descends from B.1.617.2.
    """
    lineages = [name for name in names if _PANGO.fullmatch(name)]
    if len(lineages) * 2 < len(names):
        return {}
    return {name: ".".join(name.split(".")[:_DEPTH]) for name in lineages}
