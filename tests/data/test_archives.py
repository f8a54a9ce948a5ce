"""Reading text through compression and tar: the same text, or an error that names the file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from incrt_cli.data.archives import open_text
from incrt_cli.errors import UserError
from tests.data.files import PACKERS, tar

TEXT = ">a\nACGT\n>b é\nACGT\n"


def read(path: Path) -> str:
    with open_text(path, "FASTA") as handle:
        return handle.read()


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("tarred", [False, True])
def test_every_packing_reads_the_same_whatever_the_file_is_called(
    tmp_path: Path, packing: str, tarred: bool
) -> None:
    content = TEXT.encode()
    if tarred:
        content = tar({"readme.txt": b"hello", "./._s.fasta": b"mac", "dir/s.fasta": content})
    path = tmp_path / "download.bin"
    path.write_bytes(PACKERS[packing](content))
    assert read(path) == TEXT


def test_a_packed_member_of_a_tar_is_unpacked_too(tmp_path: Path) -> None:
    path = tmp_path / "s.tar"
    path.write_bytes(tar({"s.fasta.gz": PACKERS["gz"](TEXT.encode())}))
    assert read(path) == TEXT


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2", "zst"])
def test_streams_written_one_after_another_are_all_read(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "s"
    path.write_bytes(PACKERS[packing](b">a\nAC\n") + PACKERS[packing](b">b\nGT\n"))
    assert read(path) == ">a\nAC\n>b\nGT\n"


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "s.fasta"
    path.write_bytes(b"\xef\xbb\xbf>a\n")
    assert read(path) == ">a\n"


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2", "zst"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_a_truncated_file_is_named(tmp_path: Path, packing: str, share: float) -> None:
    noise = np.random.default_rng(0).choice(list(b"ACGT"), 200_000).astype(np.uint8).tobytes()
    content = PACKERS[packing](noise)
    path = tmp_path / "s.fasta"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UserError, match=str(path)):
        read(path)


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2"])
def test_a_damaged_file_is_named(tmp_path: Path, packing: str) -> None:
    content = bytearray(PACKERS[packing](TEXT.encode() * 500))
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "s.fasta"
    path.write_bytes(content)
    with pytest.raises(UserError, match=str(path)):
        read(path)


@pytest.mark.parametrize("tarred", [b"", tar({"s.fasta": TEXT.encode() * 2000})[:20_000]])
def test_an_empty_file_and_a_cut_tar_are_named(tmp_path: Path, tarred: bytes) -> None:
    path = tmp_path / "s.tar"
    path.write_bytes(tarred)
    with pytest.raises(UserError, match=str(path)):
        read(path)


@pytest.mark.parametrize(
    "content, complaint",
    [
        (PACKERS["xz"](b""), "is empty"),
        (b"PK\x03\x04rest", "zip archive"),
        (b">\xff\xfe\n", "not UTF-8"),
        (tar({"readme.txt": b"x", "metadata.tsv": b"x"}), "holds no FASTA file.*readme.txt, metadata.tsv"),
        (tar({"a.fasta": b">a\n", "b.fa": b">b\n"}), r"several FASTA files \(a.fasta, b.fa\)"),
    ],
)
def test_what_cannot_be_used_is_explained(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "s"
    path.write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        read(path)


def test_an_absent_file_and_a_folder_are_named_by_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("absent.fasta", "."):
        with pytest.raises(UserError, match=str(tmp_path)):
            read(Path(name))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.fasta.gz"
    path.write_bytes(PACKERS["gz"]((b"ACGT" * 20 + b"\n") * 200_000))
    tracemalloc.start()
    with open_text(path, "FASTA") as handle:
        characters = sum(len(line) for line in handle)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert characters > 16_000_000
    assert peak < 2_000_000
