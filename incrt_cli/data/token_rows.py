"""Token sequences of an Arrow column, read where they lie: in the memory map of their file."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.integer]


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers of `array` (no nulls), where they lie: its own `to_numpy` imports pandas, half a second."""
    kind = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.empty(0, dtype=kind)
    return np.frombuffer(array.buffers()[1], dtype=kind)[array.offset : array.offset + len(array)]


class TokenRows:
    """Rows of a list column; `select` takes some of them, and only `gather` reads any token.

    What is kept for each row is 8 bytes of where it lies, whatever its length.
    """

    def __init__(self, column: pa.ChunkedArray) -> None:
        chunks = column.chunks
        # Views of the file: a chunk's offsets count from the start of its values, sliced or not.
        self._values = [numbers_of(chunk.values) for chunk in chunks]
        offsets = [numbers_of(chunk.offsets) for chunk in chunks]
        nothing = np.empty(0, dtype=np.int32)
        self._starts = np.concatenate([nothing, *(found[:-1] for found in offsets)])
        self._lengths = np.concatenate([nothing, *(np.diff(found) for found in offsets)])
        self._firsts = np.cumsum([0, *map(len, chunks[:-1])])  # row that each chunk begins with
        self._rows = np.arange(len(self._starts))

    def __len__(self) -> int:
        return len(self._rows)

    def select(self, rows: Ints) -> TokenRows:
        """`rows` of these, in that order."""
        chosen = copy.copy(self)
        chosen._rows = self._rows[rows]
        return chosen

    def gather(self, rows: Ints) -> tuple[Ints, Ints]:
        """All tokens of `rows`, one row behind the other, and the rows' lengths."""
        stored = self._rows[rows]
        lengths = self._lengths[stored]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        # Place of each token in its chunk: where its row starts there, and how far into the row it is.
        place = np.arange(total) + np.repeat(self._starts[stored] - (ends - lengths), lengths)
        chunk = np.searchsorted(self._firsts, stored, side="right") - 1
        numbers = np.unique(chunk)
        if len(numbers) == 1:
            return self._values[numbers[0]][place], lengths
        chunk = np.repeat(chunk, lengths)
        tokens = np.empty(total, dtype=self._values[0].dtype if self._values else np.int32)
        for number in numbers:
            here = chunk == number
            tokens[here] = self._values[number][place[here]]
        return tokens, lengths
