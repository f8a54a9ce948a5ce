"""FASTA + metadata to encoded rows, streaming: one record is held at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from incrt_cli.config.schema import FastaData
from incrt_cli.data import columns as column_names
from incrt_cli.data.cache import Entry, cache_folder, file_sha256, get_or_make
from incrt_cli.data.fasta import first_headers
from incrt_cli.data.join import Join, choose_rule
from incrt_cli.data.kmer import KmerEncoder
from incrt_cli.data.ledger import Ledger
from incrt_cli.data.limits import LengthLimit
from incrt_cli.data.metadata import choose_id, read_header, read_labels
from incrt_cli.data.rows import RowWriter, digest
from incrt_cli.errors import UserError

Say = Callable[[str], None]
_PEEKED_HEADERS = 1000
_SECONDS_BETWEEN_LINES = 10.0
_ENCODING = {"k", "stride", "region", "max_tokens", "too_long", "label", "id", "min_joined_fraction"}
SHORT, NO_KMER = "ends before the region does", "no k-mer in it"


class Encoded(NamedTuple):
    """Rows without a split yet; the account has `labels`, `records` (ledgers), `bases` and `notes`."""

    entry: Entry
    encoder: KmerEncoder
    sha256: dict[str, str]


def encode_genomes(data: FastaData, say: Say) -> Encoded:
    """From the cache when these very files were encoded so before.

    Raises UserError for unreadable files, absent columns, too few joined records, too long ones.
    """
    sequences, metadata = Path(data.sequences), Path(data.metadata)
    encoder = KmerEncoder.from_text(data.k, data.stride, data.region)
    sha256 = {str(path): file_sha256(path) for path in (sequences, metadata)}

    def make(writer: RowWriter) -> dict[str, Any]:
        say(f"reading {metadata.absolute()}")
        join, notes = _prepare_join(data, sequences, metadata)
        say(f"reading {sequences.absolute()}")
        return {**_encode(join, encoder, data, writer, say), "notes": notes}

    folder = cache_folder(data.cache_dir)
    key = {"files": list(sha256.values()), **data.model_dump(include=_ENCODING)}
    return Encoded(get_or_make(folder, key, encoder.vocabulary_size, make), encoder, sha256)


def _prepare_join(data: FastaData, sequences: Path, metadata: Path) -> tuple[Join, list[str]]:
    """Settle label column, id column and header rule; the notes say which, and whether guessed."""
    columns, _ = read_header(metadata)
    # A look at the first headers is enough to tell how ids are written, and costs no second pass.
    headers = first_headers(sequences, _PEEKED_HEADERS)
    where = str(metadata.absolute())
    label = column_names.choose(columns, data.label, column_names.LABELS, "data.label", where)
    if data.id is not None:
        id_column = column_names.named(columns, data.id, "data.id", where)
    else:
        id_column = choose_id(metadata, columns, headers)
    labels = read_labels(metadata, id_column, label)
    rule = choose_rule(headers, labels)
    notes = [
        f"label column: {label!r}" + (" (guessed)" if data.label is None else ""),
        f"id column: {id_column!r}" + (" (guessed)" if data.id is None else "") + f", joined to {rule}",
    ]
    return Join(sequences, metadata, labels, rule, id_column), notes


class _Counts:
    """Running totals of one pass over the sequences."""

    def __init__(self, data: FastaData) -> None:
        self.ledger = Ledger()
        self.limit = LengthLimit(data.max_tokens, data.too_long)
        self.bases = self.covered = 0


def _encode(join: Join, encoder: KmerEncoder, data: FastaData, writer: RowWriter, say: Say) -> dict[str, Any]:
    counts = _Counts(data)
    next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
    for name, sequence, label in join:
        counts.ledger.read += 1
        _encode_record(name, sequence, label, encoder, counts, writer)
        if time.monotonic() > next_line:
            say(f"  {join.ledger.read:,} sequences read, {counts.ledger.kept:,} kept")
            next_line += _SECONDS_BETWEEN_LINES
    account = join.account(data.min_joined_fraction)
    counts.limit.check()
    _require_some(counts.ledger, join.sequences)
    stages = {**account.pop("stages"), "encoded": counts.ledger.as_dict()}
    lost = counts.bases - counts.covered
    return {
        "labels": join.labels.names,
        "records": {"stages": stages, **account},
        "bases": {"read": counts.bases, "lost": lost, "too_long": counts.limit.too_long},
    }


def _require_some(ledger: Ledger, sequences: Path) -> None:
    if not ledger.kept:
        reasons = "; ".join(f"{reason}: {entry['count']:,}" for reason, entry in ledger.dropped.items())
        raise UserError(
            f"no sequence of {sequences.absolute()} can be encoded ({reasons}): check data.region and data.k"
        )


def _encode_record(
    name: str, sequence: str, label: int, encoder: KmerEncoder, counts: _Counts, writer: RowWriter
) -> None:
    # A letter outside ASCII becomes "?": an unknown k-mer, like any other that is no nucleotide.
    upper = sequence.upper().encode("ascii", "replace")
    bases = encoder.cut(upper)
    tokens = encoder.encode(bases or b"")
    if not len(tokens):
        counts.ledger.drop(SHORT if bases is None else NO_KMER, name)
        return
    # Of the whole sequence, not the region: only exact repeats of a genome are duplicates.
    rows, whole = counts.limit.rows(tokens, name), digest(upper)
    for row in rows:
        writer.add(row, label, counts.ledger.kept, whole)
    counts.ledger.kept += 1
    counts.bases += len(bases or b"")
    counts.covered += encoder.covered(sum(map(len, rows)))
