"""Labelled texts to encoded rows, with their splits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from incrt_cli.config.schema import TextData
from incrt_cli.data.cache import Entry, cache_folder, get_or_make
from incrt_cli.data.limits import LengthLimit
from incrt_cli.data.phrases import hold_out
from incrt_cli.data.rows import RowWriter
from incrt_cli.data.split import LEFT_OUT, TEST, TRAIN, VALIDATION, large_classes
from incrt_cli.data.text_files import content_sha256, file_hashes, find_files, read_files, read_hub
from incrt_cli.data.text_rows import SMALL, TextRows, shortened
from incrt_cli.data.vocabulary import as_json, learn_vocabulary

Say = Callable[[str], None]
Ints = npt.NDArray[np.int64]
_BATCH_TEXTS = 1000
_PART = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
# What does not change the rows: where they come from, where they are kept, and the label control.
_NOT_ENCODING = {"path", "hub", "cache_dir", "permute_labels"}


class EncodedText(NamedTuple):
    """Rows with their final `label` (index into the account's `labels`) and `split`; the account has the
    tokenizer.
    """

    entry: Entry
    sha256: dict[str, str]


def encode_texts(data: TextData, say: Say) -> EncodedText:
    """From the cache when these very inputs were split and encoded so before.

    Raises UserError for unreadable input, absent columns, fewer than two classes, too long texts.
    """
    if data.path is not None:
        files = find_files(Path(data.path))
        where = str(Path(data.path).absolute())
        sha256 = file_hashes(files, cache_folder(data.cache_dir))
        titles = {part: ", ".join(file.name for file in group) for part, group in files.items()}
        read = partial(read_files, files)
    else:
        parts = read_hub(str(data.hub))
        where, sha256 = f"{data.hub} (Hugging Face Hub)", {str(data.hub): content_sha256(parts)}
        titles = {part: f"the {part} split of {data.hub}" for part in parts}
        read = partial(dict, parts)

    def make(writer: RowWriter) -> dict[str, Any]:
        say(f"reading {where}")
        return _encode(TextRows(read(), data, where, titles), data, writer)

    # With the names, because the account's notes tell them.
    key = {"inputs": list(sha256.values()), "titles": titles, **data.model_dump(exclude=_NOT_ENCODING)}
    entry = get_or_make(cache_folder(data.cache_dir), key, data.vocabulary_size, make)
    return EncodedText(entry, sha256)


def _encode(rows: TextRows, data: TextData, writer: RowWriter) -> dict[str, Any]:
    labels, names, small = _classes(rows, data)
    split = split_rows(rows.frame, labels, data)
    texts = rows.frame["text"].tolist()
    # From the training split alone: a word that only test texts have must stay unknown.
    tokenizer = learn_vocabulary((texts[i] for i in np.flatnonzero(split == TRAIN)), data)
    limit, digests = LengthLimit(data.max_tokens, data.too_long), rows.frame["digest"].tolist()
    read = kept = 0
    for start in range(0, len(texts), _BATCH_TEXTS):
        batch = texts[start : start + _BATCH_TEXTS]
        for i, encoding in enumerate(tokenizer.encode_batch(batch), start):
            tokens = np.array(encoding.ids, dtype=np.int32)
            windows = limit.rows(tokens, shortened(texts[i]))
            for window in windows:
                writer.add(window, int(labels[i]), i, digests[i], int(split[i]))
            read, kept = read + len(tokens), kept + sum(map(len, windows))
    limit.check()
    return {
        "labels": names,
        "classes_left_out": small,
        "stages": {part: ledger.as_dict() for part, ledger in rows.ledgers.items()},
        "tokens": {"read": read, "lost": read - kept, "too_long": limit.too_long},
        "tokenizer": as_json(tokenizer),
        "vocabulary_size": tokenizer.get_vocab_size(),
        "notes": rows.notes,
    }


def _classes(rows: TextRows, data: TextData) -> tuple[Ints, list[str], dict[str, int]]:
    codes, found = pd.factorize(rows.frame["label"])
    labels, names, small = large_classes(codes.astype(np.int64), list(found), data.min_class_size)
    rows.drop(labels == LEFT_OUT, SMALL)
    for part, ledger in rows.ledgers.items():
        ledger.kept = int((rows.frame["source"] == part).sum())
    return labels[labels != LEFT_OUT], names, small


def split_rows(frame: pd.DataFrame, labels: Ints, data: TextData) -> Ints:
    """The parts as given; a test or validation split that was not given is cut from train."""
    split: Ints = np.array([_PART[part] for part in frame["part"]], dtype=np.int64)
    fractions = {TEST: data.test_fraction, VALIDATION: data.validation_fraction}
    wanted = {part: share for part, share in fractions.items() if share and not np.any(split == part)}
    pool = np.flatnonzero(split == TRAIN)
    if wanted and len(pool):
        _, first, group, counts = np.unique(
            frame["digest"].to_numpy()[pool], return_index=True, return_inverse=True, return_counts=True
        )
        texts = frame["text"].iloc[pool[first]].str.upper().tolist()
        # Both parts in one drawing: a second one would take the first one's orphaned phrases for texts.
        held = hold_out(texts, labels[pool[first]], counts, list(wanted.values()), data.split_seed)
        for number, part in enumerate(wanted):
            split[pool[held[group] == number]] = part
    return split
