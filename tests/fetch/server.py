"""A web server on this machine that does, request by request, what a test tells it to."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site(ThreadingHTTPServer):
    """`answers[path]` are used up in turn, the last one for ever; `seen` holds every request's headers."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def ranges(self) -> list[str | None]:
        return [headers.get("range") for _, headers in self.seen]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the plan."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        self.close_connection = True
        self.server.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        answers = self.server.answers.get(self.path, [status(404)])
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def serving() -> Iterator[Site]:
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield site
        finally:
            site.over.set()
            site.shutdown()
            thread.join()


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    """Keyword `Retry_After` is the header Retry-After."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def whole(body: bytes, etag: str = '"1"', *, heeds_if_range: bool = True) -> Answer:
    """What a good file server does: 304, 206 or 200, as If-None-Match, Range and If-Range ask."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers
        if asked.get("If-None-Match") == etag:
            return status(304, ETag=etag)(handler)
        span = re.fullmatch(r"bytes=(\d+)-", asked.get("Range", ""))
        if span and (asked.get("If-Range") == etag or not heeds_if_range):
            start = int(span[1])
            where = f"bytes {start}-{len(body) - 1}/{len(body)}"
            return status(206, body[start:], ETag=etag, Content_Range=where)(handler)
        return status(200, body, ETag=etag)(handler)

    return answer


def cut(body: bytes, at: int, etag: str = '"1"', then: Answer = lambda handler: None) -> Answer:
    """Promises the whole body and sends `at` bytes of it; then hangs up, or does `then`."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("ETag", etag)
        handler.end_headers()
        handler.wfile.write(body[:at])
        then(handler)

    return answer


def stall(handler: BaseHTTPRequestHandler) -> None:
    handler.server.over.wait(20)


def reset(handler: BaseHTTPRequestHandler) -> None:
    # Lingering for no time makes the system send RST instead of FIN.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def chunked(*pieces: bytes, complete: bool = True) -> Answer:
    """A body whose length is not told beforehand; without its end when not `complete`."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for piece in [*pieces, b""] if complete else pieces:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    return answer
