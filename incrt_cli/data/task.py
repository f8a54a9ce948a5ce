"""`Task`: all that training sees of the data, whoever made it.

Token ids: 0 is padding, 1 is unknown (an ambiguous k-mer, an unseen word). Padding never occurs
inside a stored sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from incrt_cli.data.token_rows import TokenRows
from incrt_cli.sequences import kmer

if TYPE_CHECKING:
    import torch

PAD, UNKNOWN = kmer.PADDING, kmer.UNKNOWN
SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")


class Batch(NamedTuple):
    """`tokens` B × n (int64, padded with 0), `mask` B × n (True = a real token; None: no padding),
    `labels` B (int64).
    """

    tokens: torch.Tensor
    mask: torch.Tensor | None
    labels: torch.Tensor


@dataclass(frozen=True)
class EncodedSplit:
    """Token sequences of one split, memory-mapped from Arrow.

    `lengths`, `labels`, `records` are N-vectors (int64). Rows that are windows of one record share
    its number in `records`; a record's prediction is the mean of its windows' log-probabilities.
    `seen` is True where an identical token sequence occurs in the training split (all True there).
    `lookup` turns stored codes into tokens, where they are not the tokens already.
    """

    tokens: TokenRows
    lengths: np.ndarray
    labels: np.ndarray
    records: np.ndarray
    seen: np.ndarray
    lookup: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def subset(self, rows: np.ndarray) -> EncodedSplit:
        """`rows` of this split, in that order."""
        kept = {name: getattr(self, name)[rows] for name in ("lengths", "labels", "records", "seen")}
        return replace(self, tokens=self.tokens.select(rows), **kept)

    def batch(self, indices: Sequence[int] | np.ndarray) -> Batch:
        """Rows `indices` in that order, padded to the longest of them."""
        import torch  # seconds that reading and checking data can do without

        chosen = np.asarray(indices, dtype=np.int64)
        stored, lengths = self.tokens.gather(chosen)
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
        tokens = np.full(mask.shape, PAD, dtype=np.int64)
        tokens[mask] = stored if self.lookup is None else self.lookup[stored]
        labels = torch.from_numpy(self.labels[chosen])
        return Batch(torch.from_numpy(tokens), torch.from_numpy(mask), labels)


@dataclass(frozen=True)
class Task:
    """Splits, label names (index = class id), vocabulary (JSON-able, enough to encode new input)."""

    name: str
    splits: Mapping[SplitName, EncodedSplit]
    labels: Sequence[str]
    vocabulary: Mapping[str, Any]
    vocabulary_size: int
    max_tokens: int
    summary: Mapping[str, Any] = field(default_factory=dict)  # JSON-able account of every record
    sha256: Mapping[str, str] = field(default_factory=dict)  # input file -> hash of its bytes
