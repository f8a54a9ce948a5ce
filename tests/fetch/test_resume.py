"""What came before an interruption is used, and never for another version of the file."""

from __future__ import annotations

import errno
import json
import os
import socket
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from incrt_cli.errors import UserError
from tests.fetch.conftest import Bench
from tests.fetch.samples import BODY, FINISHED, INTERRUPTED, NEWER, PATH, names, remote
from tests.fetch.server import Answer, Site, cut, reset, stall, status, whole

REST = f"bytes 7000-{len(BODY) - 1}/{len(BODY)}"


def test_a_truncated_body_is_resumed_where_it_ended(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [cut(BODY, 7000), whole(BODY)]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert site.ranges() == [None, "bytes=7000-"]
    assert site.seen[1][1]["if-range"] == '"1"'
    assert names(tmp_path) == FINISHED


@pytest.mark.parametrize("trouble", [stall, reset])
def test_a_connection_that_stalls_or_breaks_is_replaced_by_another(
    site: Site, bench: Bench, tmp_path: Path, trouble: Answer
) -> None:
    site.answers[PATH] = [cut(BODY, 7000, then=trouble), whole(BODY)]
    assert bench.downloader(timeout=1.5).fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert len(site.seen) == 2


@pytest.mark.parametrize(
    "later",
    [
        [whole(NEWER, '"2"')],  # heeds If-Range and sends all of the new version
        [whole(NEWER, '"2"', heeds_if_range=False), whole(NEWER, '"2"')],  # would mix two versions
        [status(200, NEWER, ETag='"2"')],  # knows no ranges
        [status(416), whole(NEWER, '"2"')],
        [status(206, NEWER[7000:], Content_Range="bytes 7000-24002/24003"), whole(NEWER, '"2"')],
        [status(206, BODY[7000:], ETag='"2"', Content_Range=REST), whole(NEWER, '"2"')],
        [status(206, BODY[7000:], Last_Modified="today", Content_Range=REST), whole(NEWER, '"2"')],
        [status(206, NEWER[:9], ETag='"1"', Content_Range="bytes 3-11/24003"), whole(NEWER, '"2"')],
    ],
)
def test_two_versions_never_end_up_in_one_file(
    site: Site, bench: Bench, tmp_path: Path, later: list[Answer]
) -> None:
    site.answers[PATH] = [cut(BODY, 7000), *later]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == NEWER
    assert site.ranges()[:2] == [None, "bytes=7000-"] and set(site.ranges()[2:]) <= {None}


def test_a_part_without_a_strong_version_is_not_resumed(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [cut(BODY, 7000, etag='W/"1"'), whole(BODY)]
    bench.downloader().fetch(remote(site), tmp_path)
    assert site.ranges() == [None, None]


def test_attempts_are_bounded_and_the_next_call_goes_on(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [cut(BODY, 7000), status(500)]
    with pytest.raises(UserError, match=r"given up after 4 attempts: the server answered 500.*\n.*goes on"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert bench.slept == [0.5, 1.0, 2.0] and names(tmp_path) == INTERRUPTED
    site.answers[PATH] = [whole(BODY)]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert site.ranges()[-1] == "bytes=7000-"


def test_progress_earns_new_attempts(site: Site, bench: Bench, tmp_path: Path) -> None:
    large, step = b">a\n" + bytes(5 << 20), 1 << 20

    def little(handler: BaseHTTPRequestHandler) -> None:  # a mebibyte more on every connection
        start = int((site.ranges()[-1] or "bytes=0-")[6:-1])
        end = f"bytes {start}-{len(large) - 1}/{len(large)}"
        status(206, large[start : start + step], ETag='"1"', Content_Range=end)(handler)

    site.answers[PATH] = [cut(large, step), little]
    assert bench.downloader(attempts=2).fetch(remote(site), tmp_path).size == len(large)
    assert len(site.seen) == 6


def test_a_part_killed_when_it_was_whole_costs_one_byte(site: Site, bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.fasta.part").write_bytes(BODY)
    record = {"url": site.url(PATH), "etag": '"1"', "length": len(BODY)}
    (tmp_path / "a.fasta.part.json").write_text(json.dumps(record))
    site.answers[PATH] = [whole(BODY)]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert site.ranges() == [f"bytes={len(BODY) - 1}-"]


@pytest.mark.parametrize("damage", ["", "[]", '{"url": 3}', '{"url": "http://other/", "etag": "1"}'])
def test_a_part_of_unknown_origin_is_not_used(site: Site, bench: Bench, tmp_path: Path, damage: str) -> None:
    (tmp_path / "a.fasta.part").write_bytes(NEWER)
    (tmp_path / "a.fasta.part.json").write_text(damage)
    site.answers[PATH] = [whole(BODY)]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert site.ranges() == [None]


def test_ctrl_c_keeps_the_part(site: Site, bench: Bench, tmp_path: Path) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    site.answers[PATH] = [cut(BODY, 7000), whole(BODY)]
    bench.clock = bench.clock._replace(sleep=interrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.downloader().fetch(remote(site), tmp_path)
    assert names(tmp_path) == INTERRUPTED
    assert (tmp_path / "a.fasta.part").read_bytes() == BODY[:7000]
    assert "7.0 kB in " in bench.said[-1]


def test_a_disk_that_fills_up_keeps_the_part(
    site: Site, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    site.answers[PATH] = [whole(BODY)]
    with monkeypatch.context() as patch, pytest.raises(UserError, match="No space left.*a.fasta.part"):
        patch.setattr(os, "fsync", full)
        bench.downloader().fetch(remote(site), tmp_path)
    assert names(tmp_path) == INTERRUPTED and len(site.seen) == 1


def test_a_network_that_goes_away_midway_is_waited_for(
    site: Site, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, calls = socket.create_connection, iter([True, False, True])

    def sometimes(*args: Any, **kwargs: Any) -> socket.socket:
        if not next(calls):
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return connect(*args, **kwargs)

    monkeypatch.setattr(socket, "create_connection", sometimes)
    site.answers[PATH] = [cut(BODY, 7000), whole(BODY)]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert site.ranges() == [None, "bytes=7000-"] and bench.slept == [0.5, 1.0]
