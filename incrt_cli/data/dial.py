"""A task whose need for attention is known: `lookups` independent content matches decide a binary label.

Every sequence holds, in random order, one left and one right token of each look-up, each in one of two
variants, and some fillers. A look-up agrees when its two variants are equal, and the label says whether most
look-ups agree. No single token tells anything about the label; the bilinear form that compares all pairs has
rank `lookups`, of which a head provides at most d_k.
"""

from __future__ import annotations

import numpy as np

from incrt_cli.config.schema import DialData
from incrt_cli.data.drawn import FIRST_TOKEN, DrawnTask, Ints

FILLERS = 16  # different filler tokens
LABELS = ("minority agrees", "majority agrees")


def draw_examples(data: DialData) -> tuple[Ints, Ints]:
    """Token ids (N × (2 lookups + fillers)) and labels (N), the same for the same settings."""
    rng = np.random.default_rng(data.dial_seed)
    # left and right variants, N × lookups each
    left, right = rng.integers(0, 2, (2, data.examples, data.lookups))
    pairs = FIRST_TOKEN + 4 * np.arange(data.lookups)
    fillers = FIRST_TOKEN + 4 * data.lookups + rng.integers(0, FILLERS, (data.examples, data.fillers))
    tokens = np.concatenate([pairs + left, pairs + 2 + right, fillers], axis=1)
    labels = (2 * (left == right).sum(axis=1) > data.lookups).astype(np.int64)
    return rng.permuted(tokens, axis=1), labels


def dial_task(data: DialData) -> DrawnTask[DialData]:
    return DrawnTask(
        data,
        draw_examples,
        LABELS,
        length=2 * data.lookups + data.fillers,
        vocabulary_size=FIRST_TOKEN + 4 * data.lookups + FILLERS,
        shaping=frozenset({"lookups", "fillers", "examples", "dial_seed"}),
        sizes=("lookups", "fillers"),
        what=f"{data.lookups} look-ups decide the label",
    )
