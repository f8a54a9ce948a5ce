"""FASTA records as bytes: Biopython's parser is the oracle, and each damage has a message of its own."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from Bio.SeqIO.FastaIO import SimpleFastaParser
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.errors import UserError
from incrt_cli.sequences.alphabet import NUCLEOTIDE, PROTEIN, Alphabet
from incrt_cli.sequences.fasta import first_headers, parse_fasta, read_fasta
from incrt_cli.sequences.read_ahead import DEPTH, read_ahead

ANYWHERE = Path("/somewhere/s.fasta")


def parsed(text: bytes, chunk: int = 1 << 20, alphabet: Alphabet = NUCLEOTIDE) -> list[tuple[str, bytes]]:
    chunks = (text[at : at + chunk] for at in range(0, len(text), chunk))
    return list(parse_fasta(chunks, alphabet, ANYWHERE))


def by_biopython(text: bytes) -> list[tuple[str, bytes]]:
    handle = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8")  # ends lines at \n, \r\n and \r
    records = SimpleFastaParser(handle)  # type: ignore[no-untyped-call]
    return [
        (header, re.sub(r"\s", "", sequence).upper().replace("U", "T").encode())
        for header, sequence in records
    ]


headers = st.text("ab >|é\t;", max_size=6)
lines = st.text("ACGTUacgtunNRY-. \t", max_size=12)
line_ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n", " \n"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Any mixture of line ends, wrapped and empty sequences, with or without an end to the last line."""
    parts = [draw(st.sampled_from(["", "\n", " \r\n"]))]
    for header, sequence in draw(
        st.lists(st.tuples(headers, st.lists(lines, max_size=4)), min_size=1, max_size=5)
    ):
        for line in (">" + header, *sequence):
            parts += [line, draw(line_ends)]
    return "".join(parts if draw(st.booleans()) else parts[:-1]).encode()


@given(text=files(), chunk=st.integers(1, 7))
def test_records_are_biopythons_wherever_the_chunks_are_cut(text: bytes, chunk: int) -> None:
    assert parsed(text) == by_biopython(text)
    assert parsed(text, chunk) == parsed(text)


@pytest.mark.parametrize(
    ("text", "alphabet", "records"),
    [
        (b">a b \nAC\n\n>c>d\n>e\nGu", NUCLEOTIDE, [("a b", b"AC"), ("c>d", b""), ("e", b"GT")]),
        (b">caf\xe9\nA", NUCLEOTIDE, [("café", b"A")]),
        (b">caf\xc3\xa9\nA", NUCLEOTIDE, [("café", b"A")]),
        (b">a\nMKU*\n>b\nM*K\n", PROTEIN, [("a", b"MKU"), ("b", b"M*K")]),
        (b">a\n;remark\nAC", NUCLEOTIDE, [("a", b";REMARKAC")]),
    ],
    ids=[
        "empty sequences are kept",
        "Latin-1",
        "UTF-8",
        "a stop ends a protein",
        "no comments: letters are counted",
    ],
)
def test_what_a_record_is(text: bytes, alphabet: Alphabet, records: list[tuple[str, bytes]]) -> None:
    assert parsed(text, alphabet=alphabet) == records


PEPTIDE = b"MFVFLVLLPLVSSQCVNLTTRTQLPPAYTNSFTRGVYYPDKVFRSSVLHSTQ"
DAMAGED = {
    "blank": (b"\n \n", NUCLEOTIDE, " holds no FASTA record (no line starts with '>')"),
    "a table": (b"strain\tx>y\n", NUCLEOTIDE, " holds no FASTA record (no line starts with '>')"),
    "text first": (
        b"\n\nACGT\n>a\nAC\n",
        NUCLEOTIDE,
        ", line 3: text before the first record ('ACGT'); FASTA starts with a line '>name', so remove what "
        "stands before it",
    ),
    "HTML": (
        b"\n<!DOCTYPE html><html>\n>a\n",
        NUCLEOTIDE,
        " is a web page (HTML), not FASTA: download the file that the page links to",
    ),
    "bare HTML": (
        b"<HTML lang='en'>",
        NUCLEOTIDE,
        " is a web page (HTML), not FASTA: download the file that the page links to",
    ),
    "FASTQ": (
        b"@r1\nACGT\n+\nIIII\n",
        NUCLEOTIDE,
        " is FASTQ, not FASTA: convert it, for example with: seqtk seq -A",
    ),
    "GenBank": (
        b"LOCUS       NC_045512  29903 bp\n",
        NUCLEOTIDE,
        " is a GenBank file, not FASTA: download it as FASTA, or convert it",
    ),
    "binary": (
        b"\x7fELF\x02\x01\x00\x00",
        NUCLEOTIDE,
        " is a binary file, not FASTA text: is it packed in a way that is not read?",
    ),
    "damaged inside": (
        b">a\nAC\n>b\nAC\x00GT\n",
        NUCLEOTIDE,
        ": record 2 ('b') holds bytes that are no text: the file is damaged or not FASTA; get it again",
    ),
    "beyond ASCII": (
        b">a\nAC\xffGT\n",
        NUCLEOTIDE,
        ": record 1 ('a') holds bytes that are no text: the file is damaged or not FASTA; get it again",
    ),
    "glued": (
        b">a\nAC\n>b\nAC\r\nGT>c\nAC\n",
        NUCLEOTIDE,
        ": record 2 ('b') has '>' inside its line 3: the line end before a header is lost; put it back",
    ),
    "proteins": (
        b">S\n" + PEPTIDE,
        NUCLEOTIDE,
        " holds proteins (record 'S'), and nucleotides are expected: give the nucleotide FASTA, or "
        "choose the protein alphabet",
    ),
    "nucleotides": (
        b">short\nGATTACA\n>S\n" + b"ACGTN" * 10,
        PROTEIN,
        " holds nucleotides (record 'S'), and proteins are expected: give the protein FASTA, or choose the "
        "nucleotide alphabet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("chunk", [1, 1 << 20])
@pytest.mark.parametrize(("text", "alphabet", "message"), DAMAGED.values(), ids=DAMAGED)
def test_each_damage_has_its_message(text: bytes, alphabet: Alphabet, message: str, chunk: int) -> None:
    with pytest.raises(UserError) as error:
        parsed(text, chunk, alphabet)
    assert str(error.value) == f"{ANYWHERE}{message}"


def test_the_right_alphabet_passes_and_so_do_stray_letters() -> None:
    assert parsed(b">S\n" + PEPTIDE, alphabet=PROTEIN) == [("S", PEPTIDE)]
    assert parsed(b">a\n" + b"ACGT" * 20 + b"LX") == [("a", b"ACGT" * 20 + b"LX")]


def test_one_long_line_in_many_chunks_is_one_record() -> None:
    assert parsed(b">a\n" + b"ACGT" * 50_000, chunk=10) == [("a", b"ACGT" * 50_000)]


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_files_are_read_packed_or_not(tmp_path: Path, suffix: str, pack: type[bytes]) -> None:
    path = tmp_path / f"s.fasta{suffix}"
    path.write_bytes(pack(b"\xef\xbb\xbf>a 1\r\nACgt\r\n>b\r\nNN\r\n"))
    assert list(read_fasta(path, NUCLEOTIDE)) == [("a 1", b"ACGT"), ("b", b"NN")]
    assert first_headers(path, NUCLEOTIDE, 1) == ["a 1"]


def test_an_error_of_unpacking_reaches_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "s.fasta.gz"
    path.write_bytes(gzip.compress(bytes(range(64, 128)) * 100)[:-20])
    with pytest.raises(UserError, match=f"{path}.*truncated or damaged"):
        list(read_fasta(path, NUCLEOTIDE))


def reading_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "read-ahead"]


def test_the_thread_ends_with_the_reader_however_early_that_is(tmp_path: Path) -> None:
    path = tmp_path / "s.fasta"
    path.write_bytes(b">a\nACGT\n" * 1_000_000)
    records = read_fasta(path, NUCLEOTIDE)
    assert list(islice(records, 2)) == [("a", b"ACGT")] * 2
    assert reading_threads()
    records.close()  # type: ignore[attr-defined]
    assert not reading_threads()


def test_no_more_chunks_are_read_ahead_than_may_wait() -> None:
    reads = threading.Semaphore(0)

    class Endless(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            reads.release()
            return b"x"

    with read_ahead(Endless(), 1) as chunks:
        for _ in range(DEPTH):
            assert reads.acquire(timeout=60)
        assert not reads.acquire(timeout=0.05)
        assert next(chunks) == b"x"
        assert reads.acquire(timeout=60)


@pytest.mark.shared_data
def test_real_genomes_are_biopythons(shared_data: Path) -> None:
    path = shared_data / "sars_cov_2" / "genomes.fasta.xz"

    def oracle() -> Iterator[tuple[str, bytes]]:
        with lzma.open(path, "rt") as handle:
            for header, sequence in SimpleFastaParser(handle):  # type: ignore[no-untyped-call]
                yield header, sequence.upper().encode()

    pairs = zip(read_fasta(path, NUCLEOTIDE), oracle(), strict=True)
    assert all(ours == theirs for ours, theirs in islice(pairs, 2000))
