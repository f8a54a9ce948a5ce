"""What passes for a file of its kind, and what a server sends in its stead."""

from __future__ import annotations

import gzip
import lzma
import re
from pathlib import Path

import pytest

from incrt_cli.fetch.content import complaint, config_key, sequence_md5

GZIP = gzip.compress(b">a\n", mtime=0)  # the time would be part of the tests' names


@pytest.mark.parametrize(
    "name, content, content_type",
    [
        ("a.fasta", b">a\nACGT\n", "text/html"),  # some servers call every text HTML
        ("a.fa", b"\xef\xbb\xbf\n>a\nACGT\n", ""),
        ("a.fasta.gz", GZIP, "text/plain"),
        ("a.tsv.xz", lzma.compress(b"a\tb\n"), "application/octet-stream"),
        ("a.tar.xz", lzma.compress(b"anything"), ""),
        ("a.tsv.zst", b"\x28\xb5\x2f\xfd....", ""),
        ("a.tsv", b"strain\tlineage\n", ""),
        ("a.csv", b"strain;lineage\n", ""),
        ("a.gff3", b"##gff-version 3\n", ""),
        ("a.html", b"<!doctype html>", "text/html"),
        ("a.bin", b"\x00\x01", ""),
    ],
)
def test_nothing_speaks_against_a_good_file(
    tmp_path: Path, name: str, content: bytes, content_type: str
) -> None:
    (tmp_path / "part").write_bytes(content)
    assert complaint(tmp_path / "part", name, content_type) is None


@pytest.mark.parametrize(
    "name, content, content_type, wrong",
    [
        ("a.fasta", b"<!DOCTYPE html><html>", "", "HTML page"),
        ("a.tsv", b"\n  <HTML lang='en'>\t", "", "HTML page"),
        ("a.fasta.gz", b"<html>", "", "HTML page"),
        ("a.bin", b"<p>Sorry", "text/html; charset=utf-8", "HTML page"),
        ("a.fasta.zst", GZIP, "", r"not those of a \.zst file"),
        ("a.fasta", GZIP, "", "does not start with '>'"),
        ("a.fasta", b'{"error":"API rate limit exceeded"}', "", "does not start with '>'"),
        ("a.gff3", b">MN908947.3\n", "", "does not start with '##gff-version'"),
        ("a.tsv", b"not available", "", "no delimiter"),
        ("a.fasta", b" \n", "", "empty file"),
    ],
)
def test_something_else_than_the_file_is_told(
    tmp_path: Path, name: str, content: bytes, content_type: str, wrong: str
) -> None:
    (tmp_path / "part").write_bytes(content)
    found = complaint(tmp_path / "part", name, content_type)
    assert found is not None
    assert re.search(wrong, found)


@pytest.mark.parametrize(
    "name, key",
    [
        ("sequences.fasta.zst", "data.sequences"),
        ("A.FA", "data.sequences"),
        ("MN908947.3.gff3", "data.genes"),
        ("metadata_all.tsv.xz", "data.metadata"),
        ("train.jsonl", "data.path"),
        ("readme", "data.path"),
    ],
)
def test_a_name_tells_the_config_key(name: str, key: str) -> None:
    assert config_key(name) == key


@pytest.mark.shared_data
def test_the_reference_has_the_expected_sum(shared_data: Path) -> None:
    from incrt_cli.fetch.catalogue import REFERENCE_MD5

    assert sequence_md5(shared_data / "sars_cov_2" / "reference_MN908947.3.fasta") == REFERENCE_MD5
