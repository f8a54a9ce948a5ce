"""A download is whole and verified, or not there; and it never costs more requests than it must."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from incrt_cli import __version__
from incrt_cli.errors import UserError
from incrt_cli.fetch.catalogue import Remote
from incrt_cli.fetch.download import Downloader
from incrt_cli.fetch.progress import Progress
from tests.fetch.conftest import Bench
from tests.fetch.samples import BODY, FINISHED, NEWER, PATH, names, remote
from tests.fetch.server import Site, chunked, cut, status, whole


def test_a_file_comes_with_its_checksum_and_one_honest_request(
    site: Site, bench: Bench, tmp_path: Path
) -> None:
    site.answers[PATH] = [whole(BODY)]
    got = bench.downloader().fetch(remote(site), tmp_path / "new" / "folder")
    assert got.path.read_bytes() == BODY and got.fresh and got.size == len(BODY)
    assert names(got.path.parent) == FINISHED
    digest = hashlib.sha256(BODY).hexdigest()
    assert got.path.with_name("a.fasta.sha256").read_text() == f"{digest}  a.fasta\n"
    [(path, headers)] = site.seen
    assert path == PATH and headers["user-agent"] == f"incrt/{__version__}"
    assert headers["accept-encoding"] == "identity"  # the published bytes, which a range can count
    assert not headers.keys() & {"range", "if-range", "if-none-match", "if-modified-since"}
    assert bench.slept == []


def test_a_finished_file_is_asked_for_and_not_sent_again(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [whole(BODY)]
    first = bench.downloader().fetch(remote(site), tmp_path)
    again = bench.downloader().fetch(remote(site), tmp_path)
    assert again == first._replace(fresh=False)
    assert site.seen[1][1]["if-none-match"] == '"1"'
    assert "not fetched again (unchanged at the server)" in bench.said[-1]


def test_a_file_whose_server_tells_no_version_is_not_even_asked_for(
    site: Site, bench: Bench, tmp_path: Path
) -> None:
    site.answers[PATH] = [chunked(BODY[:100], BODY[100:])]
    for _ in range(2):
        assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert len(site.seen) == 1


def test_a_new_version_replaces_the_old_one_only_when_it_is_whole(
    site: Site, bench: Bench, tmp_path: Path
) -> None:
    site.answers[PATH] = [whole(BODY), cut(NEWER, 9, '"2"'), status(500)]
    bench.downloader().fetch(remote(site), tmp_path)
    with pytest.raises(UserError, match="given up"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert (tmp_path / "a.fasta").read_bytes() == BODY
    site.answers[PATH] = [whole(NEWER, '"2"')]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == NEWER


@pytest.mark.parametrize("content", [b">mine", BODY.lower()])
def test_a_file_that_is_not_as_fetched_is_never_overwritten(
    site: Site, bench: Bench, tmp_path: Path, content: bytes
) -> None:
    site.answers[PATH] = [whole(BODY)]
    bench.downloader().fetch(remote(site), tmp_path)
    (tmp_path / "a.fasta").write_bytes(content)
    with pytest.raises(UserError, match="is there already and is not as fetched"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert (tmp_path / "a.fasta").read_bytes() == content


def test_a_copied_folder_is_known_by_its_bytes(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [whole(BODY)]
    path = bench.downloader().fetch(remote(site), tmp_path).path
    os.utime(path, (1, 1))
    assert not bench.downloader().fetch(remote(site), tmp_path).fresh


def test_another_address_does_not_take_the_place_of_a_file(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers = {PATH: [whole(BODY)], "/other/a.fasta": [whole(BODY)]}
    bench.downloader().fetch(remote(site), tmp_path)
    with pytest.raises(UserError, match=f"was fetched from .*{PATH}"):
        bench.downloader().fetch(Remote(site.url("/other/a.fasta"), "a.fasta"), tmp_path)


@pytest.mark.parametrize(
    "known, message",
    [
        ({"sha256": "0" * 64}, "the SHA-256 is .*, but 0{64} was expected"),
        ({"sequence_md5": "0" * 32}, "the MD5 of the sequence is .*, but 0{32} was expected"),
    ],
)
def test_a_wrong_checksum_leaves_nothing(
    site: Site, bench: Bench, tmp_path: Path, known: dict[str, str], message: str
) -> None:
    site.answers[PATH] = [whole(BODY)]
    with pytest.raises(UserError, match=message):
        bench.downloader().fetch(remote(site, **known), tmp_path)
    assert names(tmp_path) == [] and len(site.seen) == 1


def test_checksums_that_hold_are_accepted(site: Site, bench: Bench, tmp_path: Path) -> None:
    body = b">a\nac gt\r\nAC\n"
    sha256, md5 = hashlib.sha256(body).hexdigest().upper(), hashlib.md5(b"ACGTAC").hexdigest()
    site.answers[PATH] = [cut(body, 5), whole(body)]  # the part's bytes count towards the checksum
    got = bench.downloader().fetch(remote(site, sha256=sha256, sequence_md5=md5), tmp_path)
    assert got.path.read_bytes() == body


def test_a_file_with_another_checksum_than_expected_is_fetched_again(
    site: Site, bench: Bench, tmp_path: Path
) -> None:
    site.answers[PATH] = [whole(BODY), whole(NEWER)]  # the server says that nothing has changed
    bench.downloader().fetch(remote(site), tmp_path)
    got = bench.downloader().fetch(remote(site, sha256=hashlib.sha256(NEWER).hexdigest()), tmp_path)
    assert got.path.read_bytes() == NEWER and got.fresh


def test_an_error_page_leaves_nothing(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [status(200, b"<!DOCTYPE html><p>Too busy", Content_Type="text/html")]
    with pytest.raises(UserError, match=f"{PATH}: the server sent an HTML page instead of the file"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert names(tmp_path) == []


def test_a_disk_too_small_is_told_before_the_body_is_read(
    site: Site, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "free")(100)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    site.answers[PATH] = [whole(BODY)]
    with pytest.raises(UserError, match=r"cannot write .*/a.fasta: no room for another 20.0 kB"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert names(tmp_path) == []


def test_two_at_once_fetch_the_file_once(site: Site, bench: Bench, tmp_path: Path) -> None:
    waiting = threading.Event()

    def until_the_other_waits(handler: BaseHTTPRequestHandler) -> None:
        assert waiting.wait(10)
        whole(BODY)(handler)

    def say(line: str) -> None:
        if "another process is fetching it" in line:
            waiting.set()

    site.answers[PATH] = [until_the_other_waits, whole(BODY)]
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(Downloader(say).fetch, remote(site), tmp_path) for _ in range(2)]
        got = [future.result() for future in both]
    assert sorted(one.fresh for one in got) == [False, True] and len(site.seen) == 2
    assert got[0].path.read_bytes() == BODY and names(tmp_path) == FINISHED


def test_progress_is_told_every_few_seconds_and_no_oftener() -> None:
    times, said = iter([0, 1, 6, 6, 7, 12, 12, 13]), []
    progress = Progress("a", 4000, said.append, lambda: float(next(times)))
    for size in (1000, 2000, 2500, 3000, 3500):
        progress.at(size)
    assert said == ["a: 2.0 kB of 4.0 kB (50 %)", "a: 3.0 kB of 4.0 kB (75 %)"]


def test_long_downloads_tell_how_far_they_are(site: Site, bench: Bench, tmp_path: Path) -> None:
    def now() -> float:
        bench.time += 6
        return bench.time

    bench.clock = bench.clock._replace(now=now)
    site.answers[PATH] = [whole(BODY)]
    bench.downloader().fetch(remote(site), tmp_path)
    *progress, last = bench.said
    assert progress and all(re.fullmatch(r"a.fasta: .* of 20.0 kB \(\d+ %\)", line) for line in progress)
    assert last == "a.fasta: 20.0 kB, complete"
