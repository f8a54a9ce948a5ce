"""Read a stream in a thread, so that decompression goes on while its chunks are worked on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import BinaryIO

DEPTH = 4  # chunks that may wait: more only costs memory


@contextmanager
def read_ahead(stream: BinaryIO, size: int) -> Iterator[Iterator[bytes]]:
    """The chunks of `stream`, `size` bytes each, read by a thread that ends with the context.

    An error of the thread is raised where the next chunk would have come.
    """
    reader = _Reader(stream, size)
    reader.start()
    try:
        yield reader.chunks()
    finally:
        # Joined before the caller closes the stream, which the thread may be reading from.
        reader.stop()


class _Reader(Thread):
    def __init__(self, stream: BinaryIO, size: int) -> None:
        # A daemon, so that a generator nobody closed does not keep the interpreter from ending.
        super().__init__(name="read-ahead", daemon=True)
        self._stream, self._size = stream, size
        self._queue: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self._free = Semaphore(DEPTH)
        self._stopped = False

    def run(self) -> None:
        try:
            while self._free.acquire() and not self._stopped:
                chunk = self._stream.read(self._size)
                self._queue.put(chunk)
                if not chunk:
                    return
        except BaseException as error:  # whatever it is, it belongs to the reader of the chunks
            self._queue.put(error)

    def chunks(self) -> Iterator[bytes]:
        while item := self._queue.get():
            if isinstance(item, BaseException):
                raise item
            self._free.release()
            yield item

    def stop(self) -> None:
        self._stopped = True
        self._free.release()
        self.join()
