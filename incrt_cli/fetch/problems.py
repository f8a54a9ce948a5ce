"""What can go wrong between a server and us, sorted by what helps: time, another address, or neither."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
from urllib.error import HTTPError, URLError

from incrt_cli.errors import UserError

_UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN}


class Retryable(Exception):
    """Worth another attempt, after `wait` seconds when the server named a time."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Unreachable(Exception):
    """No connection at all: pointless to try again, unless the server was reached a moment ago."""


class NotThereError(UserError):
    """The server answered that it has no such file for us."""


def while_connecting(url: str, error: Exception) -> Exception:
    """The problem behind an exception raised before the server's answer was read."""
    if isinstance(error, HTTPError):  # a redirect in a circle, or to what is not http
        error.close()
        return UserError(f"{url}: cannot be fetched: {error}")
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, http.client.InvalidURL | UnicodeError):
        return UserError(f"{url} is no address that can be fetched: {reason}")
    if isinstance(reason, http.client.HTTPException | TimeoutError):
        return Retryable(described(reason))
    # A refused connection is what a firewall or a proxy that is down looks like: waiting mends neither.
    if isinstance(reason, ConnectionError) and not isinstance(reason, ConnectionRefusedError):
        return Retryable(described(reason))
    return Unreachable(described(reason))


def described(reason: object) -> str:
    """One phrase for a reason given by the operating system, TLS or urllib."""
    if isinstance(reason, TimeoutError):
        return "the server stalled"
    if isinstance(reason, socket.gaierror):
        return f"its address cannot be looked up ({reason.strerror or reason})"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted ({reason.verify_message})"
    if isinstance(reason, OSError):
        return reason.strerror or str(reason) or type(reason).__name__
    return str(reason) or type(reason).__name__
