"""A file of a server, whole and verified or not at all: resumed, retried, and fetched once."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from incrt_cli.errors import UserError
from incrt_cli.fetch.catalogue import Remote
from incrt_cli.fetch.content import complaint, require_sum, sequence_md5
from incrt_cli.fetch.exchange import ask, body, body_length, checked_url
from incrt_cli.fetch.local import Local, Record, hash_start
from incrt_cli.fetch.problems import Retryable, Unreachable
from incrt_cli.fetch.progress import Progress, readable
from incrt_cli.fetch.retry import PAUSES, Clock, Pace, Patience

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class Fetched(NamedTuple):
    """A finished file; `fresh` is False when it was there already."""

    path: Path
    url: str
    sha256: str
    size: int
    fresh: bool


class Downloader:
    """Fetches one file at a time. `say` takes a line of progress; `timeout` is seconds without a byte."""

    def __init__(
        self,
        say: Callable[[str], None],
        *,
        attempts: int = 6,
        timeout: float = 30.0,
        pauses: Mapping[str, float] = PAUSES,
        clock: Clock | None = None,
    ) -> None:
        self._say, self._attempts, self._timeout = say, attempts, timeout
        self._clock = clock or Clock()
        self._pace = Pace(pauses, self._clock)

    def fetch(self, remote: Remote, folder: Path) -> Fetched:
        """`remote` as folder/remote.name, with NAME.sha256 and NAME.fetch.json beside it.

        Raises UserError: absent (NotThereError), unreachable, not what was expected, given up, disk full.
        What came before an interruption stays in NAME.part, from which the next call goes on.
        """
        url = checked_url(remote.url)
        local = Local(folder.absolute() / remote.name)
        with self._kept_part_told(local):
            local.target.parent.mkdir(parents=True, exist_ok=True)
            with local.alone(self._say):
                return self._patiently(remote._replace(url=url), local)

    @contextmanager
    def _kept_part_told(self, local: Local) -> Iterator[None]:
        kept = f"in {local.part} is kept: the same command goes on there"
        try:
            yield
        except KeyboardInterrupt:
            if local.part.exists():
                self._say(f"{readable(local.part_size())} {kept}")
            raise
        except OSError as error:  # of this machine: those of the network are problems by now
            advice = f"what came so far {kept}, or remove it" if local.part.exists() else "give another --to"
            reason = error.strerror or str(error)
            raise UserError(f"cannot write {local.target}: {reason}; {advice}") from error

    def _patiently(self, remote: Remote, local: Local) -> Fetched:
        patience = Patience(remote.url, self._attempts, self._clock, local.part_size())
        while True:
            try:
                return self._once(remote, local)
            except Unreachable as error:
                if not patience.failures:
                    raise UserError(_advice(remote.url, error)) from error
                problem = Retryable(str(error))  # it was reached before: the network is away for a moment
            except Retryable as error:
                problem = error
            seconds = patience.wait_after(problem, local.part_size())
            self._say(f"{remote.name}: {problem}; trying again in {seconds:.1f} s")
            self._clock.sleep(seconds)

    def _once(self, remote: Remote, local: Local) -> Fetched:
        known = local.finished(remote.url)
        # What the caller expects is not what is there: the server's opinion on changes does not matter.
        if known and remote.sha256 and known.sha256 != remote.sha256.lower():
            known = None
        if known and not known.conditions():
            return self._unchanged(known, local, "the server tells no versions; remove it to fetch it again")
        start, partial = local.resumable(remote.url)
        headers = known.conditions() if known else {}
        if partial:
            headers |= {"Range": f"bytes={start}-", "If-Range": partial.strong_validator}
        self._pace.wait(urlsplit(remote.url).hostname or "")
        with ask(remote.url, headers, self._timeout) as response:
            if response.status == 304 and known:
                return self._unchanged(known, local, "unchanged at the server")
            if partial and response.status == 200:
                self._say(f"{remote.name}: changed, or not to be resumed at this server: from the beginning")
            start, record = _version(response, remote.url, start, partial, local)
            sha256 = self._receive(response, remote.name, local, start, record)
            content_type = response.headers.get("Content-Type", "")
        _verify(remote, local, sha256, content_type)
        done = local.finish(record, sha256)
        self._say(f"{remote.name}: {readable(done.length or 0)}, complete")
        return Fetched(local.target, remote.url, sha256, done.length or 0, fresh=True)

    def _unchanged(self, known: Record, local: Local, why: str) -> Fetched:
        self._say(f"{local.target.name}: there already, not fetched again ({why})")
        return Fetched(local.target, known.url, known.sha256, known.length or 0, fresh=False)

    def _receive(self, response: Any, name: str, local: Local, start: int, record: Record) -> str:
        """Append the answer's body to the part; SHA-256 of the whole."""
        expected = None if record.length is None else record.length - start
        hasher = hash_start(local.part, start)
        progress = Progress(name, record.length, self._say, self._clock.now)
        with open(local.part, "r+b" if start else "wb") as file:
            file.seek(start)
            file.truncate()
            for piece in body(response, expected):
                file.write(piece)
                hasher.update(piece)
                progress.at(file.tell())
            # Before the rename: after a power cut a file of that name must not be empty.
            file.flush()
            os.fsync(file.fileno())
        return hasher.hexdigest()


def _version(response: Any, url: str, start: int, partial: Record | None, local: Local) -> tuple[int, Record]:
    """Where the answer's body begins, and which version of the file it belongs to."""
    headers = response.headers
    etag, modified = headers.get("ETag", ""), headers.get("Last-Modified", "")
    if response.status == 200:
        record = Record(url, etag, modified, body_length(headers))
        # Discarded first: a crash must not leave old bytes under a new version's name.
        local.discard_part()
        _require_room(local, record.length)
        local.begin(record)
        return 0, record
    span = _RANGE.fullmatch(headers.get("Content-Range", "").strip())
    # Not every server heeds If-Range: bytes of two versions must not end up in one file.
    if partial and response.status == 206 and span and int(span[1]) == start:
        length = partial.length if span[3] == "*" else int(span[3])
        same = etag in ("", partial.etag) and modified in ("", partial.last_modified)
        if same and partial.length in (None, length):
            _require_room(local, None if length is None else length - start)
            return start, partial._replace(length=length)
    local.discard_part()
    raise Retryable("the server cannot go on where the part ends; starting over", wait=0)


def _require_room(local: Local, needed: int | None) -> None:
    # Now, and not after the hours that it may take until the disk is full.
    if needed is not None and needed > shutil.disk_usage(local.part.parent).free:
        raise OSError(errno.ENOSPC, f"no room for another {readable(needed)}")


def _verify(remote: Remote, local: Local, sha256: str, content_type: str) -> None:
    try:
        if wrong := complaint(local.part, remote.name, content_type):
            raise UserError(
                f"{remote.url}: {wrong}; nothing was kept. Open the address in a browser to see why."
            )
        require_sum("SHA-256", remote.sha256, sha256, remote.url)
        if remote.sequence_md5:
            require_sum("MD5 of the sequence", remote.sequence_md5, sequence_md5(local.part), remote.url)
    except UserError:
        local.discard_part()  # never to be resumed
        raise


def _advice(url: str, error: Unreachable) -> str:
    return (
        f"cannot reach {urlsplit(url).hostname}: {error}.\n"
        f"Check the connection (behind a proxy, HTTPS_PROXY), or fetch {url}\n"
        "on another machine and name the local file, as in data.sequences=FILE."
    )
