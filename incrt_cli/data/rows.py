"""The columns of encoded rows, and their writing to an Arrow stream with bounded memory."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

UNSPLIT = -1
# Large batches: opening the file touches every one, and each pulls its neighbourhood into memory.
_FLUSH_TOKENS = 1 << 22
_FLUSH_ROWS = 1 << 14
_COLUMNS = ("label", "record", "digest", "key", "unknown", "split", "length")


def digest(content: bytes) -> int:
    """64 bits of a hash, as a signed integer: equal content, equal digest.

    Two different records share one with probability about 1e-5 among ten million.
    """
    return int.from_bytes(xxhash.xxh3_64_digest(content), "little", signed=True)


def read_rows(path: Path) -> pa.Table:
    """The table that a `RowWriter` wrote: mapped into memory, nothing of it copied.

    Raises OSError or ValueError (pyarrow's) where it is no such file.
    """
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
        return stream.read_all()


class RowWriter:
    """Writes rows: `tokens`, `label` (a code), `record` (windows of one record share it), `digest`
    (of the record as read), `key` (of the tokens), `unknown` (tokens that are 1) and `split`
    (index into SPLITS, or UNSPLIT) and `length`.
    """

    def __init__(self, path: Path, vocabulary_size: int | None) -> None:
        # Half the file for nearly every vocabulary; batches are widened to int64 in any case.
        narrow = vocabulary_size is not None and vocabulary_size <= 1 << 16
        self._dtype = np.uint16 if narrow else np.int32
        self._path = path
        self._tokens: list[npt.NDArray[np.integer]] = []
        self._cells: list[tuple[int, ...]] = []
        self._held = 0

    def __enter__(self) -> RowWriter:
        kind = pa.from_numpy_dtype(np.dtype(self._dtype))
        fields = [("tokens", pa.list_(kind)), *((name, pa.int64()) for name in _COLUMNS)]
        self._schema = pa.schema(fields)
        self._file = pa.OSFile(str(self._path), "wb")
        self._stream = pa.ipc.new_stream(self._file, self._schema)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._stream.close()
        self._file.close()

    def add(
        self, tokens: npt.NDArray[np.integer], label: int, record: int, digest_: int, split: int = UNSPLIT
    ) -> None:
        tokens = tokens.astype(self._dtype)
        # Counted here, so that no later step has to read the tokens again.
        unknown = int(np.count_nonzero(tokens == 1))
        self._tokens.append(tokens)
        self._cells.append((label, record, digest_, digest(tokens.tobytes()), unknown, split, len(tokens)))
        self._held += len(tokens)
        # By tokens as well as by rows: memory must not depend on how long the records are.
        if self._held >= _FLUSH_TOKENS or len(self._cells) >= _FLUSH_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._cells:
            return
        offsets = np.cumsum([0, *map(len, self._tokens)], dtype=np.int32)
        tokens = pa.ListArray.from_arrays(offsets, np.concatenate(self._tokens))
        cells = [pa.array(column, pa.int64()) for column in zip(*self._cells, strict=True)]
        self._stream.write_batch(pa.record_batch([tokens, *cells], schema=self._schema))
        self._tokens, self._cells, self._held = [], [], 0
