"""`build_task`: the data section of a config to a `Task`, with an account of every record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from incrt_cli.config.schema import ComposeData, Data, DialData, FastaData, SyntheticData, TextData
from incrt_cli.data.assemble import Columns, Parts, assemble
from incrt_cli.data.cache import Entry
from incrt_cli.data.compose import compose_task
from incrt_cli.data.dial import dial_task
from incrt_cli.data.drawn import DrawnTask
from incrt_cli.data.genome_parts import genome_parts
from incrt_cli.data.genomes import encode_genomes
from incrt_cli.data.summary import lost, summary_lines
from incrt_cli.data.synthetic import cached_population
from incrt_cli.data.task import Task

Say = Callable[[str], None]


def build_task(data: Data, name: str, say: Say) -> Task:
    """Read, join, encode (or take from the cache) and split; `say` gets progress and the account.

    Raises UserError for anything in the data or its description that cannot be used; nothing is
    left behind then.
    """
    if isinstance(data, SyntheticData):
        data = cached_population(data, say)
    if isinstance(data, TextData):
        parts = _text_parts(data, say)
    elif isinstance(data, DialData):
        parts = _drawn_parts(dial_task(data), say)
    elif isinstance(data, ComposeData):
        parts = _drawn_parts(compose_task(data), say)
    else:
        parts = _genome_parts(data, say)
    task = assemble(parts, data, name)
    for line in summary_lines(task.summary):
        say(line)
    return task


def _genome_parts(data: FastaData, say: Say) -> Parts:
    encoded = encode_genomes(data, say)
    say(_where(encoded.entry))
    return genome_parts(encoded, data)


def _where(entry: Entry) -> str:
    return f"encoded rows: {entry.home}" + (" (made before)" if entry.reused else "")


def _text_parts(data: TextData, say: Say) -> Parts:
    from incrt_cli.data.text import encode_texts  # pandas, which no other kind of data needs

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


def _drawn_parts(drawn: DrawnTask[Any], say: Say) -> Parts:
    entry, parts = drawn.parts(say)
    say(_where(entry))
    return parts
