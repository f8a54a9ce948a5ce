"""A task whose need for attention is known: `lookups` independent content matches decide a binary label.

Every sequence holds, in random order, one left and one right token of each look-up, each in one of two
variants, and some fillers. A look-up agrees when its two variants are equal, and the label says whether most
look-ups agree. No single token tells anything about the label; the bilinear form that compares all pairs has
rank `lookups`, of which a head provides at most d_k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from incrt_cli.config.schema import DialData
from incrt_cli.data.assemble import Columns, Parts
from incrt_cli.data.cache import Entry, cache_folder, get_or_make
from incrt_cli.data.rows import RowWriter, digest
from incrt_cli.data.split import assign
from incrt_cli.data.summary import lost
from incrt_cli.errors import UserError

Ints = npt.NDArray[np.int64]
FILLERS = 16  # different filler tokens
LABELS = ("minority agrees", "majority agrees")
_FIRST = 2  # after padding and unknown
_SHAPING = {"lookups", "fillers", "examples", "dial_seed"}


def draw_examples(data: DialData) -> tuple[Ints, Ints]:
    """Token ids (N × (2 lookups + fillers)) and labels (N), the same for the same settings."""
    rng = np.random.default_rng(data.dial_seed)
    # left and right variants, N × lookups each
    left, right = rng.integers(0, 2, (2, data.examples, data.lookups))
    pairs = _FIRST + 4 * np.arange(data.lookups)
    fillers = _FIRST + 4 * data.lookups + rng.integers(0, FILLERS, (data.examples, data.fillers))
    tokens = np.concatenate([pairs + left, pairs + 2 + right, fillers], axis=1)
    labels = (2 * (left == right).sum(axis=1) > data.lookups).astype(np.int64)
    return rng.permuted(tokens, axis=1), labels


def encode_dial(data: DialData, say: Callable[[str], None]) -> Entry:
    """Rows from the cache, or made now. Raises UserError when sequences exceed `max_tokens`."""
    length = 2 * data.lookups + data.fillers
    if length > data.max_tokens:
        raise UserError(
            f"data.lookups and data.fillers make {length} tokens a sequence, more than data.max_tokens = "
            f"{data.max_tokens}: raise that"
        )

    def make(writer: RowWriter) -> dict[str, Any]:
        say(f"drawing {data.examples:,} sequences that take {data.lookups} look-ups")
        tokens, labels = draw_examples(data)
        for number, (row, label) in enumerate(zip(tokens, labels.tolist(), strict=True)):
            writer.add(row, label, number, digest(row.tobytes()))
        return {
            "labels": list(LABELS),
            "vocabulary_size": vocabulary,
            "tokens": {"read": tokens.size, "lost": 0, "too_long": 0},
        }

    vocabulary = _FIRST + 4 * data.lookups + FILLERS
    key = {"kind": "dial", **data.model_dump(include=_SHAPING)}
    return get_or_make(cache_folder(data.cache_dir), key, vocabulary, make)


def dial_parts(entry: Entry, data: DialData) -> Parts:
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
        vocabulary, account["vocabulary_size"], summary, {},
    )  # fmt: skip
