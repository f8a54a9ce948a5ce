"""Part `input`: FASTA to k-mer tokens on one core, beside reading the bytes; sentences to rows."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from incrt_cli.bench.measurement import Context, Found, rate_of
from incrt_cli.bench.timing import Clock, clock_of, side_by_side
from incrt_cli.config.schema import SyntheticData, TextData
from incrt_cli.data.synthetic import SEQUENCES, write_population
from incrt_cli.data.text import encode_texts
from incrt_cli.sequences.alphabet import NUCLEOTIDE, code
from incrt_cli.sequences.fasta import read_fasta
from incrt_cli.sequences.kmer import KmerEncoder

_GENOMES, _QUICK_GENOMES = 1000, 20  # of 30 kb
_TEXTS, _QUICK_TEXTS = 5000, 200
_K = 6
_CHUNK = 1 << 18


def inputs(context: Context) -> Found:
    """`fasta_mb_s` in 10⁶ bytes of the file a second, `bytes_mb_s` without parsing, `text_rows_s`."""
    with tempfile.TemporaryDirectory(prefix="incrt-bench-") as folder, _one_core():
        genomes = _genomes(context, Path(folder))
        texts = _texts(context, Path(folder))
    return Found({**genomes.figures, **texts.figures}, genomes.measurements + texts.measurements)


def _clock(context: Context) -> Clock:
    """Of the CPU, whatever the model is on."""
    return clock_of(torch.device("cpu"), context.cpu_time)


def _genomes(context: Context, folder: Path) -> Found:
    count = _QUICK_GENOMES if context.quick else _GENOMES
    write_population(SyntheticData(kind="synthetic", genomes=count), folder)
    path = folder / SEQUENCES
    works = {
        f"FASTA to tokens, stride {stride}": lambda stride=stride: _encode(path, stride) for stride in (_K, 1)
    }
    timings = side_by_side(
        {**works, "reading the bytes": lambda: _read(path)}, context.effort, _clock(context)
    )
    shape, megabytes = {"genomes": count, "bytes": path.stat().st_size, "k": _K}, path.stat().st_size / 1e6
    measured = [rate_of("input", what, timing, megabytes, "MB/s", shape) for what, timing in timings.items()]
    return Found({"fasta_mb_s": measured[0].median, "bytes_mb_s": measured[-1].median}, measured)


def _encode(path: Path, stride: int) -> int:
    encoder = KmerEncoder(_K, stride, NUCLEOTIDE)
    return sum(len(encoder.encode(code(letters, NUCLEOTIDE))) for _, letters in read_fasta(path, NUCLEOTIDE))


def _read(path: Path) -> int:
    with path.open("rb") as file:
        return sum(len(chunk) for chunk in iter(lambda: file.read(_CHUNK), b""))


def _texts(context: Context, folder: Path) -> Found:
    """Reading, splitting, learning the vocabulary and encoding, into a new cache every time."""
    count = _QUICK_TEXTS if context.quick else _TEXTS
    path = folder / "train.tsv"
    path.write_text(_sentences(count))
    caches = iter(range(1 << 20))

    def encode() -> None:
        data = TextData(kind="text", path=str(path), cache_dir=str(folder / f"cache-{next(caches)}"))
        encode_texts(data, lambda line: None)

    timing = side_by_side({"text": encode}, context.long_effort, _clock(context))["text"]
    measured = rate_of("input", "sentences to rows", timing, count, "rows/s", {"rows": count})
    return Found({"text_rows_s": measured.median}, [measured])


def _sentences(count: int) -> str:
    """Reviews of two classes, about ten words each, over a vocabulary whose frequencies fall off."""
    chance = random.Random(0)
    lines = ["sentence\tlabel"]
    for _ in range(count):
        label = chance.randrange(2)
        words = [f"w{int(chance.paretovariate(0.7))}" for _ in range(chance.randrange(3, 18))]
        lines.append(f"{'fine' if label else 'dull'} {' '.join(words)}\t{label}")
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """Keep this thread, and those it starts, on one core where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
