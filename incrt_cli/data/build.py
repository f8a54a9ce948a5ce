"""`build_task`: the data section of a config to a `Task`, with an account of every record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from incrt_cli.config.schema import DialData, FastaData, SyntheticData, TextData
from incrt_cli.data.assemble import Columns, Parts, assemble
from incrt_cli.data.cache import Entry
from incrt_cli.data.dial import encode_dial
from incrt_cli.data.genomes import encode_genomes
from incrt_cli.data.ledger import EXAMPLES
from incrt_cli.data.split import LEFT_OUT, assign, large_classes
from incrt_cli.data.summary import lost, summary_lines
from incrt_cli.data.synthetic import cached_population
from incrt_cli.data.task import Task
from incrt_cli.data.text import encode_texts

Say = Callable[[str], None]
_SMALL = "class smaller than data.min_class_size"
_ENCODING = {"k", "stride", "region", "max_tokens", "too_long"}


def build_task(data: SyntheticData | FastaData | TextData | DialData, name: str, say: Say) -> Task:
    """Read, join, encode (or take from the cache) and split; `say` gets progress and the account.

    Raises UserError for anything in the data or its description that cannot be used; nothing is
    left behind then.
    """
    if isinstance(data, SyntheticData):
        data = cached_population(data, say)
    if isinstance(data, TextData):
        parts = _text_parts(data, say)
    elif isinstance(data, DialData):
        parts = _dial_parts(data, say)
    else:
        parts = _genome_parts(data, say)
    task = assemble(parts, data, name)
    for line in summary_lines(task.summary):
        say(line)
    return task


def _genome_parts(data: FastaData, say: Say) -> Parts:
    encoded = encode_genomes(data, say)
    say(_where(encoded.entry))
    account, columns = encoded.entry.account, Columns(encoded.entry.rows)
    labels, names, small = large_classes(columns.label[columns.first], account["labels"], data.min_class_size)
    # Classes and split are settled here and not in the cache: other fractions need no new encoding.
    used = labels != LEFT_OUT
    split = np.full(len(labels), LEFT_OUT, dtype=np.int64)
    digests = columns.digest[columns.first]
    split[used] = assign(
        labels[used], digests[used], data.validation_fraction, data.test_fraction, data.split_seed
    )
    summary = {
        "notes": account["notes"],
        "region": data.region,
        "records": _with_small(account["records"], small),
        "classes_left_out": small,
        "bases_lost": lost(account["bases"]),
    }
    vocabulary = {"kind": "kmer", **data.model_dump(include=_ENCODING)}
    return Parts(
        encoded.entry.rows, columns, labels, split, names,
        vocabulary, encoded.encoder.vocabulary_size, summary, encoded.sha256,
    )  # fmt: skip


def _where(entry: Entry) -> str:
    return f"encoded rows: {entry.home}" + (" (made before)" if entry.reused else "")


def _with_small(records: dict[str, Any], small: dict[str, int]) -> dict[str, Any]:
    """The last stage's account, with the classes left out as one more reason."""
    if not small:
        return records
    last = records["stages"]["encoded"]
    entry = {"count": sum(small.values()), "examples": [f"class {name}" for name in list(small)[:EXAMPLES]]}
    last = {**last, "kept": last["kept"] - entry["count"], "dropped": {**last["dropped"], _SMALL: entry}}
    return {**records, "stages": {**records["stages"], "encoded": last}}


def _text_parts(data: TextData, say: Say) -> Parts:
    encoded = encode_texts(data, say)
    say(_where(encoded.entry))
    account, columns = encoded.entry.account, Columns(encoded.entry.rows)
    summary = {
        "notes": account["notes"],
        "records": {"stages": account["stages"]},
        "classes_left_out": account["classes_left_out"],
        "tokens_lost": lost(account["tokens"]),
    }
    vocabulary = {
        "kind": "text",
        "tokenizer": account["tokenizer"],
        **data.model_dump(include={"max_tokens", "too_long"}),
    }
    return Parts(
        encoded.entry.rows, columns, columns.label[columns.first], columns.split[columns.first],
        account["labels"], vocabulary, account["vocabulary_size"], summary, encoded.sha256,
    )  # fmt: skip


def _dial_parts(data: DialData, say: Say) -> Parts:
    entry = encode_dial(data, say)
    say(_where(entry))
    account, columns = entry.account, Columns(entry.rows)
    split = assign(
        columns.label, columns.digest, data.validation_fraction, data.test_fraction, data.split_seed
    )
    stage = {"read": data.examples, "kept": data.examples, "dropped": {}}
    summary = {
        "notes": [f"drawn here: {data.lookups} look-ups decide the label"],
        "records": {"stages": {"drawn": stage}},
        "classes_left_out": {},
        "tokens_lost": lost(account["tokens"]),
    }
    vocabulary = {"kind": "dial", **data.model_dump(include={"lookups", "fillers", "max_tokens"})}
    return Parts(
        entry.rows, columns, columns.label, split, account["labels"],
        vocabulary, entry.account["vocabulary_size"], summary, {},
    )  # fmt: skip
