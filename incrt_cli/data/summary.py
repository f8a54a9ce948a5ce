"""The account of a task: a JSON-able dictionary, and its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from incrt_cli.data.task import SPLITS

Ints = npt.NDArray[np.int64]
_SHOWN_CLASSES = 15
_SHOWN_SMALL = 5


def class_counts(names: Sequence[str], labels: Ints, split: Ints) -> dict[str, dict[str, int]]:
    """Records of each class in each split, the largest class first."""
    counts = np.zeros((len(names), len(SPLITS)), dtype=np.int64)
    used = split >= 0
    np.add.at(counts, (labels[used], split[used]), 1)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    return {names[i]: dict(zip(SPLITS, counts[i].tolist(), strict=True)) for i in order}


def lengths_of(lengths: Ints) -> dict[str, float]:
    if not len(lengths):
        return {}
    return {"min": int(lengths.min()), "median": float(np.median(lengths)), "max": int(lengths.max())}


def lost(account: Mapping[str, int]) -> dict[str, Any]:
    return {**account, "share": account["lost"] / account["read"] if account["read"] else 0.0}


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """`Task.summary` for a reader: records, choices, splits, classes, tokens."""
    lines = list(summary["notes"]) + _region_lines(summary)
    for stage, ledger in summary["records"]["stages"].items():
        lines += _ledger_lines(stage, ledger)
    if "joined" in summary["records"]:
        share = summary["records"]["joined_fraction"]
        lines.append(f"joined: {summary['records']['joined']:,} ({share:.1%} of the smaller side)")
    lines += _split_lines(summary) + _class_lines(summary) + _group_lines(summary)
    return lines + _letter_lines(summary) + _token_lines(summary)


def _region_lines(summary: Mapping[str, Any]) -> list[str]:
    if not summary.get("region"):
        return []
    return [
        f"region {summary['region']} is counted on each sequence as it is: an insertion, deletion or missing "
        "end before it shifts the cut"
    ]


def _ledger_lines(stage: str, ledger: Mapping[str, Any]) -> list[str]:
    lines = [f"{stage}: {ledger['read']:,} read, {ledger['kept']:,} kept"]
    for reason, entry in ledger["dropped"].items():
        lines.append(f"  dropped, {reason}: {entry['count']:,} (e.g. {', '.join(entry['examples'])})")
    return lines


def _split_lines(summary: Mapping[str, Any]) -> list[str]:
    parts = []
    for name, sizes in summary["splits"].items():
        windows = f" in {sizes['rows']:,} windows" if sizes["rows"] != sizes["records"] else ""
        parts.append(f"{name} {sizes['records']:,}{windows}")
    seen = ", ".join(f"{name} {e['rows']:,} of {e['of']:,}" for name, e in summary["seen_inputs"].items())
    whole = "whole sequences" if "letters" in summary else "sentences"
    identical = " (the region read is identical)" if summary.get("region") else ""
    return [
        f"splits: {', '.join(parts)}" + ("; labels permuted" if summary["permuted_labels"] else ""),
        f"{whole} that repeat another: {summary['duplicates']:,} (kept in one split); "
        f"with another label: {summary['conflicts']:,}",
        f"inputs that also occur in training{identical}: {seen}",
    ]


def _class_lines(summary: Mapping[str, Any]) -> list[str]:
    classes, small = summary["classes"], summary["classes_left_out"]
    width = max(map(len, list(classes)[:_SHOWN_CLASSES]), default=0)
    lines = [f"{len(classes):,} classes:", f"  {'':{width}}  " + "  ".join(f"{name:>10}" for name in SPLITS)]
    for name in list(classes)[:_SHOWN_CLASSES]:
        lines.append(f"  {name:{width}}  " + "  ".join(f"{classes[name][part]:>10,}" for part in SPLITS))
    if len(classes) > _SHOWN_CLASSES:
        lines.append(f"  … and {len(classes) - _SHOWN_CLASSES:,} more")
    if small:
        shown = ", ".join(f"{name} ({count:,})" for name, count in list(small.items())[:_SHOWN_SMALL])
        more = f" and {len(small) - _SHOWN_SMALL:,} more" if len(small) > _SHOWN_SMALL else ""
        lines.append(f"classes left out as too small: {len(small):,}: {shown}{more}")
    # Possible when the parts were given as files: such a class can only be predicted wrongly.
    untrained = [name for name, counts in classes.items() if not counts["train"]]
    if untrained:
        shown = ", ".join(untrained[:_SHOWN_SMALL])
        lines.append(f"warning: no training example of {len(untrained):,} classes, for example {shown}")
    return lines


def _group_lines(summary: Mapping[str, Any]) -> list[str]:
    """Records of each group of classes, the largest first."""
    groups = summary.get("groups")
    if not groups:
        return []
    sizes: dict[str, int] = {}
    for name, counts in summary["classes"].items():
        group = groups.get(name, "(no group)")
        sizes[group] = sizes.get(group, 0) + sum(counts.values())
    ordered = sorted(sizes.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {count:,}" for name, count in ordered[:_SHOWN_CLASSES])
    more = f" and {len(ordered) - _SHOWN_CLASSES:,} more" if len(ordered) > _SHOWN_CLASSES else ""
    return [f"rolled up to {len(ordered):,} groups: {shown}{more}"]


def _letter_lines(summary: Mapping[str, Any]) -> list[str]:
    if "letters" not in summary:
        return []
    total = max(sum(summary["letters"].values()), 1)
    parts = (f"{name} {count:,} ({count / total:.3%})" for name, count in summary["letters"].items())
    return [f"letters read: {', '.join(parts)}"]


def _token_lines(summary: Mapping[str, Any]) -> list[str]:
    lengths = summary["lengths"]
    unknown = ", ".join(f"{name} {share:.2%}" for name, share in summary["unknown_share"].items())
    lines = [
        f"tokens per row: {lengths['min']:,} to {lengths['max']:,}, median {lengths['median']:,.0f}; "
        f"vocabulary {summary['vocabulary_size']:,}; unknown: {unknown}"
    ]
    # A summary has the one or the other. Bases are counted before classes are left out as too small.
    for key, what in (
        ("bases_lost", "bases lost to truncation or an incomplete last k-mer, over all encoded records"),
        ("tokens_lost", "tokens lost to truncation, over all encoded records"),
    ):
        if key in summary:
            entry = summary[key]
            lines.append(
                f"{what}: {entry['lost']:,} of {entry['read']:,} ({entry['share']:.2%}); "
                f"records longer than max_tokens: {entry['too_long']:,}"
            )
    return lines
