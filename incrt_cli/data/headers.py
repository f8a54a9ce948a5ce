"""The ids that a FASTA header may offer, and the form in which ids of two downloads are alike."""

from __future__ import annotations

WHOLE, WORD = "the whole header", "the header's first word"
# GISAID's downloads write it, Nextstrain's leave it out.
_PREFIXES = ("hCoV-19/", "SARS-CoV-2/")


def header_ids(header: str) -> dict[str, str]:
    """Every id that `header` offers, by the name of the rule that takes it.

    The rules: the whole header, its first word, and each of its `|` fields (GISAID writes
    `hCoV-19/…|EPI_ISL_…|date`). Whole comes first, so that it wins where rules agree.
    """
    words = header.split(None, 1)
    ids = {WHOLE: header, WORD: words[0] if words else ""}
    # A header without "|" offers no fields: its only one would be the header again.
    fields = header.split("|")
    if len(fields) > 1:
        ids |= {f"field {i} of the header (cut at |)": field for i, field in enumerate(fields, 1)}
    return ids


def header_id(header: str, rule: str) -> str:
    """The id by one rule; a header that has no such field is its own id."""
    if rule == WHOLE:
        return header
    return header_ids(header).get(rule, header)


def loosened(name: str) -> str:
    """`name` without white space, underscores and a leading `hCoV-19/`: a key to compare by, never an id."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return "".join(name.split()).replace("_", "")
