"""Bytes and text through compression and tar: the same content, or an error that names the file."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from incrt_cli.errors import UserError
from incrt_cli.files.streams import open_bytes, open_text
from incrt_cli.files.tar import Kind
from tests.files.packing import PACKERS, tar

TEXT = ">a\nACGT\n>b é\nACGT\n"
NOISE = np.random.default_rng(0).choice(list(b"ACGT"), 200_000).astype(np.uint8).tobytes()
PACKED = [name for name in PACKERS if name != "plain"]
CHECKED = ["gz", "xz", "bz2", "zst"]  # lzma's old format has no checksum and no room for a second stream
FRAME = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"  # one that zstd skips
READ = TEXT.encode()
SEVERAL = tar({"2.fa": b">b\nGT", "1.fna.gz": PACKERS["gz"](b"\xef\xbb\xbf>a\n"), "0.fas": b""})
GISAID = tar(
    {
        "hcov_19.metadata.tsv.xz": PACKERS["xz"](b"strain\tlineage\n"),
        "hcov_19.sequences.fasta.xz": PACKERS["xz"](b">a\nAC\n"),
    }
)


def content(path: Path, kind: Kind = "FASTA") -> bytes:
    with open_bytes(path, kind) as stream:
        return stream.read()


def text(path: Path) -> tuple[str, int]:
    with open_text(path, "table") as handle:
        return handle.read(), handle.foreign_bytes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "download.bin"


@pytest.mark.parametrize("packing", PACKERS)
def test_every_packing_reads_the_same_whatever_the_file_is_called(path: Path, packing: str) -> None:
    path.write_bytes(PACKERS[packing](READ))
    assert content(path) == READ


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("inner", PACKERS)
def test_packing_outside_and_inside_of_a_tar_reads_the_same(path: Path, packing: str, inner: str) -> None:
    name = "dir/s.fasta" if inner == "plain" else f"dir/S.FASTA.{inner}"
    whole = tar({"readme.txt": b"x", "./._s.fasta": b"mac", name: PACKERS[inner](READ), "s.tsv": b"a"})
    path.write_bytes(PACKERS[packing](whole))
    assert content(path) == READ


@pytest.mark.parametrize(
    "written, kind, read",
    [
        *((PACKERS[name](b">a\n") + PACKERS[name](b">b\n"), "FASTA", b">a\n>b\n") for name in CHECKED),
        *((PACKERS[name](b">a\n") + b"\0" * 512, "FASTA", b">a\n") for name in ("gz", "xz", "bz2")),
        (FRAME + PACKERS["zst"](b">a\n") + FRAME, "FASTA", b">a\n"),
        (b"\xef\xbb\xbf>a\n", "FASTA", b">a\n"),
        (GISAID, "FASTA", b">a\nAC\n"),
        (GISAID, "table", b"strain\tlineage\n"),
        (SEVERAL, "FASTA", b">b\nGT\n>a\n"),
    ],
)  # fmt: skip
def test_streams_and_members_are_read_one_after_another(
    path: Path, written: bytes, kind: Kind, read: bytes
) -> None:
    path.write_bytes(written)
    assert content(path, kind) == read


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("kept", [20, 0.5, -9, -1])
def test_a_truncated_file_is_named_also_when_only_its_trailer_is_lost(
    path: Path, packing: str, kept: float
) -> None:
    whole = PACKERS[packing](NOISE)
    path.write_bytes(whole[: int(kept * len(whole)) if kept == 0.5 else int(kept)])
    with pytest.raises(UserError, match=f"cannot read {path}: .*truncated or damaged"):
        content(path)


@pytest.mark.parametrize("outer", ["plain", *CHECKED])
@pytest.mark.parametrize("size", [1000, 2 * 512, 512 + 200_192, 2 * 512 + 200_192 + 100])
def test_a_tar_that_is_cut_anywhere_is_named(path: Path, outer: str, size: int) -> None:
    path.write_bytes(PACKERS[outer](tar({"a.fasta": NOISE, "b.fasta": b">b\n"})[:size]))
    with pytest.raises(UserError, match=f"cannot read {path}: "):
        content(path)


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2"])
@pytest.mark.parametrize("place", [0.5, -6])
def test_a_damaged_file_is_named(path: Path, packing: str, place: float) -> None:
    damaged = bytearray(PACKERS[packing](NOISE))
    damaged[int(place * len(damaged)) if place == 0.5 else int(place)] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(UserError, match=f"cannot read {path}: "):
        content(path)


def test_the_checksum_behind_a_tar_is_verified(path: Path) -> None:
    damaged = bytearray(PACKERS["gz"](tar({"a.fasta": NOISE})))
    damaged[-6] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(UserError, match="incorrect data check"):
        content(path)


@pytest.mark.parametrize(
    "written, kind, complaint",
    [
        (b"", "FASTA", "is empty"),
        (PACKERS["xz"](b""), "FASTA", "is empty"),
        (tar({"a.fasta": b""}), "FASTA", "is empty"),
        (b"PK\x03\x04rest", "FASTA", "is a zip archive or an Excel workbook, which is not read: unpack it"),
        (tar({"a.fa": b"7z\xbc\xaf\x27\x1crest"}), "FASTA", "is a 7z archive, which is not read: unpack it"),
        *((PACKERS[name](READ) + b"x", "FASTA", "not compressed follow") for name in ("gz", "xz", "bz2")),
        (PACKERS["zst"](READ) + b"garbage", "FASTA", "truncated or damaged"),
        (tar({"readme.txt": b"x", "m.tsv": b"x"}), "FASTA", "holds no FASTA file.*holds: readme.txt, m.tsv"),
        (tar({"a.tsv": b"a", "b.csv": b"b"}), "table", r"several tables \(a.tsv, b.csv\): unpack it"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_explained(path: Path, written: bytes, kind: Kind, complaint: str) -> None:
    path.write_bytes(written)
    with pytest.raises(UserError, match=complaint):
        content(path, kind)


@contextmanager
def not_root() -> Iterator[None]:
    user = os.geteuid()
    os.seteuid(65534 if user == 0 else user)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize(
    "name, reason", [("absent", "No such file"), (".", "Is a directory"), ("secret", "Permission denied")]
)
def test_what_cannot_be_opened_is_named_by_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    (tmp_path / "secret").touch(mode=0o000)
    monkeypatch.chdir(tmp_path)
    if name == "secret":
        with not_root(), pytest.raises(UserError, match=f"cannot open {tmp_path}.*{reason}"):
            content(Path(name))
    else:
        with pytest.raises(UserError, match=f"cannot open {tmp_path}.*{reason}"):
            content(Path(name))


@pytest.mark.parametrize(
    "written, read, foreign",
    [
        ("é\t中\n".encode(), "é\t中\n", 0),
        ("é\n".encode("utf-8-sig"), "é\n", 0),
        ("é\t中\r\n".encode("utf-16"), "é\t中\n", 0),
        (b"\xfe\xff" + "é\n".encode("utf-16-be"), "é\n", 0),
        (b"\xff\xfea\0\n\0b", "a\nb", 1),
        ("Zürich é\n".encode("latin-1"), "Zürich é\n", 2),
        ("é中\n".encode() + "ü".encode("latin-1"), "é中\nü", 1),
        ("中".encode()[:2], "ä¸", 2),
        (b"a" * 70_000 + b"\xe9" + "é".encode(), "a" * 70_000 + "éé", 1),
        (b"a\r\nb\rc\n\nd", "a\nb\nc\n\nd", 0),
    ],
)
def test_text_is_utf_8_or_marked_utf_16_and_every_other_byte_is_latin_1(
    path: Path, written: bytes, read: str, foreign: int
) -> None:
    path.write_bytes(written)
    assert text(path) == (read, foreign)


def test_two_texts_at_once_count_their_own_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    one.write_bytes(b"\xe9")
    other.write_bytes(b"\xe9\xe9")
    with open_text(one, "table") as first, open_text(other, "table") as second:
        assert (second.read(), first.read()) == ("éé", "é")
        assert (first.foreign_bytes, second.foreign_bytes) == (1, 2)


@pytest.mark.parametrize("packing, most", [("gz", 2_000_000), ("xz", 10_000_000)])  # xz looks back 8 MiB
def test_memory_does_not_grow_with_the_file(path: Path, packing: str, most: int) -> None:
    path.write_bytes(PACKERS[packing]((b"ACGT" * 20 + b"\n") * 200_000))
    tracemalloc.start()
    with open_text(path, "FASTA") as handle:
        characters = sum(len(line) for line in handle)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert characters == 16_200_000
    assert peak < most
