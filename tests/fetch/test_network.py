"""Which failures of the network are tried again, which are told, and how politely servers are asked."""

from __future__ import annotations

import errno
import socket
import ssl
from io import BytesIO
from pathlib import Path
from urllib.request import Request

import pytest

from incrt_cli.errors import UserError
from incrt_cli.fetch.catalogue import Remote
from incrt_cli.fetch.exchange import WebRedirects, checked_url
from tests.fetch.conftest import Bench
from tests.fetch.samples import BODY, PATH, names, remote
from tests.fetch.server import Answer, Site, chunked, cut, reset, status, whole

untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
untrusted.verify_message = "self-signed"


@pytest.mark.parametrize(
    "failures, waits",
    [
        ([status(500), status(502)], [0.5, 1.0]),
        ([status(429, Retry_After="7")], [7.0]),
        ([status(503, Retry_After="2"), status(503)], [2.0, 1.0]),
        ([status(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")], [0.0]),
        ([status(503, Retry_After="Wed, 21 Oct 2015 07:28:00 -0000")], [0.0]),
        ([status(429, Retry_After="soon")], [0.5]),
        ([reset], [0.5]),
        ([chunked(b">a", complete=False)], [0.5]),
    ],
)
def test_what_passes_is_tried_again_after_longer_and_longer_or_as_the_server_asks(
    site: Site, bench: Bench, tmp_path: Path, failures: list[Answer], waits: list[float]
) -> None:
    site.answers[PATH] = [*failures, whole(BODY)]
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert bench.slept == waits
    assert len(site.seen) == len(failures) + 1
    assert sum("trying again" in line for line in bench.said) == len(failures)


@pytest.mark.parametrize("code", [401, 403, 404, 410, 451])
def test_a_refusal_is_final_and_names_the_address(
    site: Site, bench: Bench, tmp_path: Path, code: int
) -> None:
    site.answers[PATH] = [status(code)]
    with pytest.raises(UserError, match=rf"{PATH}: the server answered {code}"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert len(site.seen) == 1 and names(tmp_path) == []


def test_a_server_that_wants_to_be_left_alone_for_long_is(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [status(429, Retry_After="3600")]
    with pytest.raises(UserError, match="asks to wait 60 minutes"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert bench.slept == []


def test_requests_to_a_host_that_asks_for_it_are_kept_apart(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers[PATH] = [whole(BODY)]
    downloader = bench.downloader(pauses={"0.0.1": 0.34})  # a domain holds for the hosts below it
    for _ in range(3):
        downloader.fetch(remote(site), tmp_path)
    assert bench.slept == [0.34, 0.34]


@pytest.mark.parametrize(
    "scheme, error, reason",
    [
        ("http", socket.gaierror(-2, "Name or service not known"), "cannot be looked up"),
        ("http", ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "Connection refused"),
        ("http", OSError(errno.ENETUNREACH, "Network is unreachable"), "Network is unreachable"),
        ("https", untrusted, r"certificate cannot be trusted \(self-signed\)"),
        ("https", None, "SSL"),  # the server of these tests speaks no TLS
    ],
)
def test_no_connection_is_one_message_with_the_way_out(
    site: Site,
    bench: Bench,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    error: OSError | None,
    reason: str,
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        assert error is not None
        raise error

    if error is not None:
        monkeypatch.setattr(socket, "create_connection", refuse)
    url = site.url(PATH).replace("http", scheme, 1)
    with pytest.raises(
        UserError, match=rf"cannot reach 127.0.0.1: .*{reason}.*\n(.*\n)*.*data.sequences=FILE"
    ):
        bench.downloader().fetch(Remote(url, "a.fasta"), tmp_path)
    assert bench.slept == [] and names(tmp_path) == []


def test_redirects_are_followed_over_http_alone(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers = {PATH: [status(302, Location="/there")], "/there": [cut(BODY, 7000), whole(BODY)]}
    assert bench.downloader().fetch(remote(site), tmp_path).path.read_bytes() == BODY
    assert [path for path, _ in site.seen] == [PATH, "/there"] * 2 and site.ranges()[-1] == "bytes=7000-"


@pytest.mark.parametrize("where", ["file:///etc/passwd", "ftp://127.0.0.1/a.fasta", PATH])
def test_redirects_elsewhere_or_in_a_circle_are_refused(
    site: Site, bench: Bench, tmp_path: Path, where: str
) -> None:
    site.answers[PATH] = [status(302, Location=where)]
    with pytest.raises(UserError, match="127.0.0.1"):
        bench.downloader().fetch(remote(site), tmp_path)
    assert names(tmp_path) == [] and bench.slept == []


def test_a_redirect_from_https_to_http_is_refused() -> None:
    request = Request("https://host/a")
    with pytest.raises(UserError, match="from https to http://host/a"):
        WebRedirects().redirect_request(request, BytesIO(), 302, "", {}, "http://host/a")


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://host/a", "/a.fasta", "https:///a", "http://me:secret@host/a", "http://[/a"],
)
def test_only_addresses_of_the_web_are_fetched(url: str) -> None:
    with pytest.raises(UserError, match="cannot be fetched"):
        checked_url(url)


def test_what_is_not_ascii_in_an_address_is_quoted(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers["/%C3%A9%20a%2B.fasta?b=%3E"] = [whole(BODY)]
    bench.downloader().fetch(Remote(site.url("/é a%2B.fasta?b=>#c"), "a.fasta"), tmp_path)
    assert len(site.seen) == 1
