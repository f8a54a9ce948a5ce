"""FASTA + metadata to encoded rows, streaming: a few batches of records are held at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from incrt_cli.config.schema import FastaData
from incrt_cli.data import columns as column_names
from incrt_cli.data.cache import Entry, cache_folder, get_or_make
from incrt_cli.data.encoding import Encoding
from incrt_cli.data.join import Join
from incrt_cli.data.match import Matcher, choose_rule
from incrt_cli.data.metadata import choose_id, read_labels
from incrt_cli.data.record_encoder import ALPHABETS, EncodedRecord, RecordEncoder
from incrt_cli.data.rows import RowWriter
from incrt_cli.data.workers import available_cores, batched, ordered_map
from incrt_cli.errors import UserError
from incrt_cli.files.checksums import file_sha256
from incrt_cli.files.inputs import STDIN, regular_files
from incrt_cli.files.tables import read_header
from incrt_cli.sequences.align import require_minimap
from incrt_cli.sequences.alphabet import NUCLEOTIDE
from incrt_cli.sequences.fasta import first_headers
from incrt_cli.sequences.genes import Region, read_genes, resolve_region
from incrt_cli.sequences.orientation import Orientation
from incrt_cli.sequences.reference import Reference, read_reference

Say = Callable[[str], None]
_INPUTS = ("sequences", "metadata", "reference", "genes")
_PEEKED_HEADERS = 200
_SECONDS_BETWEEN_LINES = 10.0
_BATCH_RECORDS = 32
_ENCODING = {
    "alphabet", "encoding", "k", "stride", "region", "alignment", "gaps", "max_unknown",
    "max_tokens", "too_long", "label", "id", "id_match", "min_joined_fraction",
}  # fmt: skip
Joined = tuple[str, bytes, int]


class Encoded(NamedTuple):
    """Rows without a split yet; the account has `labels`, `records` (ledgers), `letters` and `notes`."""

    entry: Entry
    encoder: RecordEncoder
    sha256: dict[str, str]


def encode_genomes(data: FastaData, say: Say) -> Encoded:
    """From the cache when these very files were encoded so before.

    Raises UserError for unreadable files, absent columns, too few joined records, too long ones.
    """
    if data.aligned_by == "reference" and data.alphabet == NUCLEOTIDE.name:
        require_minimap()  # before anything is read
    folder = cache_folder(data.cache_dir)
    given = {f"data.{key}": name for key in _INPUTS if (name := getattr(data, key)) is not None}
    _require_all(given)
    with regular_files(given, folder) as paths:
        sha256 = {given[key]: file_sha256(path, folder) for key, path in paths.items()}
        local = data.model_copy(update={key.removeprefix("data."): str(path) for key, path in paths.items()})
        encoder = _encoder(local)
        # How many mutations there are shows at the end: their tokens get the wide type.
        size = encoder.kmers.vocabulary_size if data.encoding == "kmer" else None
        key = {"files": list(sha256.values()), **data.model_dump(include=_ENCODING)}
        entry = get_or_make(folder, key, size, partial(_make, local, encoder, say))
    return Encoded(entry, encoder, sha256)


def _require_all(given: Mapping[str, str]) -> None:
    """All missing files at once: each might take a download."""
    missing = [f"{key}={Path(name).absolute()}" for key, name in given.items() if not _exists(name)]
    if missing:
        raise UserError(f"no such file: {', '.join(missing)}")


def _exists(name: str) -> bool:
    return name == STDIN or os.path.exists(name)


def _make(data: FastaData, encoder: RecordEncoder, say: Say, writer: RowWriter) -> dict[str, Any]:
    say(f"reading {Path(data.metadata).absolute()}")
    join, notes = _prepare_join(data)
    say(f"reading {Path(data.sequences).absolute()}")
    encoding = Encoding(data, encoder, writer)
    _encode(join, encoder, encoding, _workers(data), say)
    account = encoding.account(join)
    return {**account, "notes": notes + join.matcher.notes() + account["notes"]}


def _encoder(data: FastaData) -> RecordEncoder:
    alphabet = ALPHABETS[data.alphabet]
    reference: Reference | None = None
    region: Region | None = None
    if data.reference is not None:
        reference = read_reference(Path(data.reference), alphabet)
    if data.region is not None:
        genes = {} if data.genes is None else read_genes(Path(data.genes))
        region = resolve_region(
            data.region, genes, sys.maxsize if reference is None else len(reference.sequence)
        )
    return RecordEncoder.build(data, reference, region)


def _workers(data: FastaData) -> int:
    """Aligning is worth processes; cutting k-mers costs less than sending sequences to them."""
    if data.workers is not None:
        return data.workers
    return available_cores() if data.aligned_by == "reference" else 0


def _prepare_join(data: FastaData) -> tuple[Join, list[str]]:
    """Settle label column, id column and header rule; the notes say which, and whether guessed."""
    sequences, metadata = Path(data.sequences), Path(data.metadata)
    alphabet = ALPHABETS[data.alphabet]
    columns, _ = read_header(metadata)
    # A look at the first headers is enough to tell how ids are written; each is unpacked twice for it.
    headers = first_headers(sequences, alphabet, _PEEKED_HEADERS)
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
    if labels.foreign_bytes:
        notes.append(
            f"warning: {labels.foreign_bytes:,} bytes of {metadata.absolute()} are not UTF-8, read as Latin-1"
        )
    matcher = Matcher(rule, labels, data.id_match == "loose")
    return Join(sequences, metadata, labels, matcher, id_column, alphabet), notes


def _encode(join: Join, encoder: RecordEncoder, encoding: Encoding, workers: int, say: Say) -> None:
    next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
    joined = _in_columns(join) if encoder.has_own_columns else _watched(join, encoding)
    batches = batched(joined, _BATCH_RECORDS)
    for batch, records in ordered_map(partial(_encode_batch, encoder), batches, workers):
        for (name, label), record in zip(batch, records, strict=True):
            encoding.add(name, label, record)
        if time.monotonic() > next_line:
            say(f"  {join.ledger.read:,} sequences read, {encoding.ledger.kept:,} encoded so far")
            next_line += _SECONDS_BETWEEN_LINES


def _watched(join: Join, encoding: Encoding) -> Iterator[Joined]:
    """Where nothing is aligned, strands are told by comparison with the first sequence."""
    orientation: Orientation | None = None
    for name, sequence, label in join:
        if orientation is None and encoding.tells_strands:
            orientation = Orientation(sequence)
        elif orientation is not None and orientation.is_reverse(sequence):
            encoding.note_reverse(name)
        yield name, sequence, label


def _in_columns(join: Join) -> Iterator[Joined]:
    """An alignment file without a reference: its first row says how many columns there are."""
    first: tuple[str, int] | None = None
    for name, sequence, label in join:
        first = first or (name, len(sequence))
        if len(sequence) != first[1]:
            raise UserError(
                f"{join.sequences.absolute()} is no alignment: {first[0]!r} has {first[1]:,} columns and "
                f"{name!r} {len(sequence):,}. Set data.alignment to none, or give data.reference to align to."
            )
        yield name, sequence, label


def _encode_batch(
    encoder: RecordEncoder, batch: list[Joined]
) -> tuple[list[tuple[str, int]], list[EncodedRecord]]:
    # Names go along: what comes back need not be matched with what was sent.
    return [(name, label) for name, _, label in batch], [encoder.encode(s, name) for name, s, _ in batch]
