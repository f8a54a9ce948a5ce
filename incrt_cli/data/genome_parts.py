"""Encoded genomes to classes, split and vocabulary.

All of it is settled here and not in the cache: another split or grouping needs no new encoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import FastaData
from incrt_cli.data.assemble import Columns, Parts
from incrt_cli.data.genomes import Encoded
from incrt_cli.data.groups import parent_lineages, read_groups, regroup
from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.mutation_vocabulary import MutationVocabulary, learn
from incrt_cli.data.split import LEFT_OUT, TRAIN, assign, large_classes
from incrt_cli.data.summary import lost
from incrt_cli.files.checksums import file_sha256

Ints = npt.NDArray[np.int64]
SMALL, NO_GROUP = "class smaller than data.min_class_size", "label without a group in data.groups"
_ENCODING = {"alphabet", "k", "stride", "region", "gaps", "max_unknown", "max_tokens", "too_long"}


def genome_parts(encoded: Encoded, data: FastaData) -> Parts:
    """Raises UserError for an unusable table of groups or fewer than two classes."""
    account, columns = encoded.entry.account, Columns(encoded.entry.rows)
    groups = {} if data.groups is None else read_groups(Path(data.groups))
    labels, names = columns.label[columns.first], list(account["labels"])
    ungrouped: dict[str, int] = {}
    if data.predict == "group":
        labels, names, ungrouped = regroup(labels, names, groups)
    labels, names, small = large_classes(labels, names, data.min_class_size)
    used = labels != LEFT_OUT
    split = np.full(len(labels), LEFT_OUT, dtype=np.int64)
    digests = columns.digest[columns.first]
    split[used] = assign(
        labels[used], digests[used], data.validation_fraction, data.test_fraction, data.split_seed
    )
    records = _left_out(account["records"], NO_GROUP, ungrouped, "label")
    summary: dict[str, Any] = {
        "notes": account["notes"],
        "region": data.region if data.aligned_by == "none" else None,
        "records": _left_out(records, SMALL, small, "class"),
        "classes_left_out": small,
        "groups": _shown_groups(names, groups, data),
        "letters": account["letters"],
        **{key: lost(account[key]) for key in ("bases_lost", "tokens_lost") if key in account},
    }
    learnt = _learn(encoded, data, columns, split)
    size = encoded.encoder.kmers.vocabulary_size if learnt is None else learnt.size
    sha256 = dict(encoded.sha256)
    if data.groups is not None:
        sha256[data.groups] = file_sha256(Path(data.groups))
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


def _shown_groups(names: list[str], groups: Mapping[str, str], data: FastaData) -> dict[str, str]:
    """The group of each class, for the account: from the given table, else the parent of a lineage."""
    if data.predict == "group":
        return {}
    return {name: groups[name] for name in names if name in groups} if groups else parent_lineages(names)


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
