"""One request and its answer over http or https, with every failure turned into one of `problems`."""

from __future__ import annotations

import http.client
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlsplit

from incrt_cli import __version__
from incrt_cli.errors import UserError
from incrt_cli.fetch.problems import NotThereError, Retryable, described, while_connecting

_CHUNK = 1 << 18
_REDIRECTS = (301, 302, 303, 307, 308)
_ANSWERS = (200, 206, 304, 416)
_LATER = (408, 425, 429)
_ABSENT = (401, 403, 404, 410)


class WebRedirects(urllib.request.HTTPRedirectHandler):
    """Never leaves https for http. Raises UserError."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        # Checksums are not known for most files: TLS alone says that they are the publisher's.
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            fp.close()
            raise UserError(f"{req.full_url} leads from https to {newurl}, which could be tampered with")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Statuses(urllib.request.HTTPErrorProcessor):
    """Leaves every status but a redirect to the caller; 304 and 416 are answers, not errors."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return super().http_response(request, response) if response.status in _REDIRECTS else response

    https_response = http_response


def _opener() -> urllib.request.OpenerDirector:
    # Put together by hand: build_opener would also follow to ftp: and file:.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        WebRedirects(),
        _Statuses(),
    ):
        opener.add_handler(handler)
    opener.addheaders = []
    return opener


def checked_url(url: str) -> str:
    """The address with everything outside ASCII quoted. Raises UserError unless it is http(s)://host/…"""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = None
    if not usable or parts.username is not None:
        raise UserError(
            f"{url!r} cannot be fetched: give an address https://HOST/… without a user name; "
            "a file on this machine needs no fetching"
        )
    return quote(url.partition("#")[0], safe="%/:=&?~+!$,;'@()*[]")


@contextmanager
def ask(url: str, headers: Mapping[str, str], timeout: float) -> Iterator[Any]:
    """The answer to GET: an open response of status 200, 206, 304 or 416.

    `timeout` (seconds) holds for connecting and for every wait for bytes. Raises Retryable, Unreachable,
    NotThereError, or UserError for an answer that no repetition will change.
    """
    # Compression on the way would hide how many bytes are still to come, and what a range counts.
    ours = {"User-Agent": f"incrt/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers={**ours, **headers})
    try:
        response = _opener().open(request, timeout=timeout)
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise while_connecting(url, error) from error
    with response:
        if response.status not in _ANSWERS:
            raise _refusal(url, response.status, response.reason, response.headers)
        yield response


def _refusal(url: str, status: int, reason: str, headers: Message) -> Exception:
    said = f"{status} {reason}".strip()
    if status in _ABSENT:
        return NotThereError(
            f"{url}: the server answered {said}; check the address, or fetch it in a browser"
        )
    if status in _LATER or status >= 500:
        return Retryable(f"the server answered {said}", _retry_after(headers))
    return UserError(f"{url}: the server answered {said}")


def _retry_after(headers: Message) -> float | None:
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())


def body(response: Any, expected: int | None) -> Iterator[bytes]:
    """The bytes of an answer, each piece as it comes; `expected` is their number where it is known.

    Raises Retryable when the connection breaks, stalls or ends early.
    """
    left = expected
    while left is None or left > 0:
        try:
            # read1 gives what is there: what came before a stall is written and need not come again.
            piece = response.read1(_CHUNK if left is None else min(left, _CHUNK))
        except (OSError, http.client.HTTPException) as error:
            raise Retryable(_broken(error)) from error
        if not piece:
            break
        left = None if left is None else left - len(piece)
        yield piece
    if left:
        raise Retryable(f"the connection closed {left:,} bytes early")


def _broken(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the connection closed early"
    return described(error)


def body_length(headers: Message) -> int | None:
    """Content-Length, unless it is absent or no number."""
    value = (headers.get("Content-Length") or "").strip()
    return int(value) if value.isascii() and value.isdigit() else None
