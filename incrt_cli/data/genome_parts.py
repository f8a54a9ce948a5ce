"""Encoded genomes to classes, split and vocabulary.

All of it is settled here and not in the cache: another split or grouping needs no new encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import FastaData
from incrt_cli.data.assemble import Columns, Parts
from incrt_cli.data.genomes import Encoded
from incrt_cli.data.groups import Groups, parent_lineages, read_groups, regroup
from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.mutation_vocabulary import MutationVocabulary, learn
from incrt_cli.data.split import LEFT_OUT, TRAIN, assign, large_classes
from incrt_cli.data.summary import lost
from incrt_cli.errors import UserError
from incrt_cli.files.checksums import file_sha256

Ints = npt.NDArray[np.int64]
SMALL, NO_GROUP = "class smaller than data.min_class_size", "label without a group in data.groups"
UNWANTED = "label in data.drop_labels"
_ENCODING = {"alphabet", "k", "stride", "region", "gaps", "max_unknown", "max_tokens", "too_long"}


def genome_parts(encoded: Encoded, data: FastaData) -> Parts:
    """Raises UserError for an unusable table of groups or fewer than two classes."""
    account, columns = encoded.entry.account, Columns(encoded.entry.rows)
    sha256 = dict(encoded.sha256)
    if data.groups is not None:
        # First of all, because it refuses a pipe: its second reader would wait for ever.
        sha256[data.groups] = file_sha256(Path(data.groups))
    labels, names = columns.label[columns.first], list(account["labels"])
    groups = Groups({}, "") if data.groups is None else read_groups(Path(data.groups), names, data.group)
    unwanted, ungrouped = _drop(labels, names, data.drop_labels), dict[str, int]()
    if data.predict == "group":
        labels, names, ungrouped = _grouped(labels, names, groups, data.other_group)
    labels, names, small = large_classes(labels, names, data.min_class_size)
    used = labels != LEFT_OUT
    split = np.full(len(labels), LEFT_OUT, dtype=np.int64)
    digests = columns.digest[columns.first]
    split[used] = assign(
        labels[used], digests[used], data.validation_fraction, data.test_fraction, data.split_seed
    )
    records = _left_out(account["records"], UNWANTED, unwanted, "label")
    if data.other_group is None:
        records = _left_out(records, NO_GROUP, ungrouped, "label")
    summary: dict[str, Any] = {
        "notes": account["notes"] + _group_notes(groups, ungrouped, data),
        "region": data.region if data.aligned_by == "none" else None,
        "records": _left_out(records, SMALL, small, "class"),
        "classes_left_out": small,
        **_shown_groups(names, groups, data),
        "letters": account["letters"],
        **{key: lost(account[key]) for key in ("bases_lost", "tokens_lost") if key in account},
    }
    learnt = _learn(encoded, data, columns, split)
    size = encoded.encoder.kmers.vocabulary_size if learnt is None else learnt.size
    return Parts(
        encoded.entry.rows, columns, labels, split, names, _vocabulary(encoded, data, learnt), size,
        summary, sha256, None if learnt is None else learnt.lookup,
    )  # fmt: skip


def _learn(encoded: Encoded, data: FastaData, columns: Columns, split: Ints) -> MutationVocabulary | None:
    if data.encoding != "mutations":
        return None
    training = split[columns.of_row] == TRAIN
    learnt = learn(encoded.entry.rows, training, encoded.entry.account["mutations"], data.min_frequency)
    columns.unknown, columns.key = learnt.unknown, learnt.key
    return learnt


def _vocabulary(encoded: Encoded, data: FastaData, learnt: MutationVocabulary | None) -> dict[str, Any]:
    """Enough to encode a new sequence: with alignment, that takes the reference itself."""
    vocabulary: dict[str, Any] = {"kind": data.encoding, **data.model_dump(include=_ENCODING)}
    vocabulary["alignment"] = data.aligned_by
    reference, region = encoded.encoder.reference, encoded.encoder.region
    vocabulary["reference"] = None
    if reference is not None:
        vocabulary["reference"] = {"name": reference.name, "sequence": reference.sequence.decode("ascii")}
    vocabulary["region_parts"] = None if region is None else [list(part) for part in region.parts]
    if learnt is not None:
        vocabulary["mutations"] = learnt.mutations
    return vocabulary


def _drop(labels: Ints, names: list[str], unwanted: Sequence[str]) -> dict[str, int]:
    """Mark the records of unwanted labels in `labels` itself; how many each label had.

    Raises UserError for a label that no record has.
    """
    if absent := [name for name in unwanted if name not in names]:
        raise UserError(f"data.drop_labels: no record has the label {', '.join(map(repr, absent))}")
    counts = {}
    for name in unwanted:
        mask = labels == names.index(name)
        counts[name] = int(mask.sum())
        labels[mask] = LEFT_OUT
    return counts


def _grouped(
    labels: Ints, names: list[str], groups: Groups, rest: str | None
) -> tuple[Ints, list[str], dict[str, int]]:
    grouped, found, missing = regroup(labels[labels != LEFT_OUT], names, groups.of, rest)
    labels[labels != LEFT_OUT] = grouped
    return labels, found, missing


def _group_notes(groups: Groups, ungrouped: Mapping[str, int], data: FastaData) -> list[str]:
    if not groups.of:
        return []
    notes = [f"groups {groups.by}"]
    if ungrouped:
        fate = "dropped (data.other_group names a class for them)"
        if data.other_group is not None:
            fate = f"in the class {data.other_group!r}"
        shown = ", ".join(f"{name} ({count:,})" for name, count in list(ungrouped.items())[:EXAMPLES])
        records = sum(ungrouped.values())
        notes.append(
            f"warning: {len(ungrouped):,} labels with {records:,} records have no group: {shown}: {fate}"
        )
    return notes


def _shown_groups(names: list[str], groups: Groups, data: FastaData) -> dict[str, Any]:
    """The group of each class, for the account: from the given table, else from the lineages' names."""
    if data.predict == "group":
        return {"groups": {}}
    if groups.of:
        return {
            "groups": {name: groups.of[name] for name in names if groups.of.get(name)},
            "groups_by": groups.by,
        }
    by = "by the first two parts of their names (aliases are not resolved)"
    return {"groups": parent_lineages(names), "groups_by": by}


def _left_out(records: dict[str, Any], reason: str, counts: Mapping[str, int], what: str) -> dict[str, Any]:
    """The last stage's account with one more reason."""
    if not counts:
        return records
    last = records["stages"]["encoded"]
    entry = {
        "count": sum(counts.values()),
        "examples": [f"{what} {name}" for name in list(counts)[:EXAMPLES]],
    }
    last = {**last, "kept": last["kept"] - entry["count"], "dropped": {**last["dropped"], reason: entry}}
    return {**records, "stages": {**records["stages"], "encoded": last}}
