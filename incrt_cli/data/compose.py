"""A task whose need for depth is known: the label is the value of a look-up of what a look-up found.

    y = second[first[q]]

A sequence is one query token q, then in random order one token (k → m) for each of the `keys` k, with m
drawn uniformly from `values` middle values, and one token (m → y) for each m. With probability `lean` y is m,
else it is drawn from all values, so a single look-up has a learning signal of its own, to find all of m, and
brings lean + (1 − lean)/values; only the composition brings 100 %.

Two layers with one head each suffice: the query finds m, then y. What a single layer can do, read from the
query token (`model.pooling: first`): given q, a head's output is Σ_t e^{s(q,t)} v_t / Σ_t e^{s(q,t)}, a
ratio of sums of one-token terms. With one head and a linear read-out the decision is then the sign of a sum
of terms of single tokens, which y is not: (m; second[0], second[1]) = (0; 1, 0), (1; 0, 1) have y = 1 and
(0; 0, 1), (1; 1, 0) have y = 0, yet the sums of both pairs consist of the same terms.

There are two ways round. Several heads: head m can read second[m] where first[q] = m and nothing elsewhere,
so one per middle value suffices; for large compositions too few cannot do it, H (d + 1) p < n log n (Peng,
Narayanan & Papadimitriou 2024, On Limitations of the Transformer Architecture), which is asymptotic and
binds nothing at sizes as here. And the LayerNorm before the read-out: with its bias it compares a sum with
that sum's own norm, a quadratic form, which can hold m and second[m] in a product. So that a layer of few
heads fails is measured (docs/depth.md), not proved.
"""

from __future__ import annotations

import numpy as np

from incrt_cli.config.schema import ComposeData
from incrt_cli.data.drawn import FIRST_TOKEN, DrawnTask, Ints


def draw_examples(data: ComposeData) -> tuple[Ints, Ints]:
    """Token ids (N × (1 + keys + values), the query first) and labels (N), the same for the same settings."""
    rng = np.random.default_rng(data.compose_seed)
    keys, values, count = data.keys, data.values, data.examples
    query = rng.integers(0, keys, count)
    first = rng.integers(0, values, (count, keys))
    drawn = rng.integers(0, values, (count, values))
    second = np.where(rng.random((count, values)) < data.lean, np.arange(values), drawn)
    pairs = FIRST_TOKEN + keys
    ends = pairs + keys * values
    tokens = np.concatenate(
        [pairs + np.arange(keys) * values + first, ends + values * np.arange(values) + second], axis=1
    )
    row = np.arange(count)
    labels = second[row, first[row, query]]
    return np.concatenate([FIRST_TOKEN + query[:, None], rng.permuted(tokens, axis=1)], axis=1), labels


def compose_task(data: ComposeData) -> DrawnTask[ComposeData]:
    return DrawnTask(
        data,
        draw_examples,
        [str(value) for value in range(data.values)],
        length=1 + data.keys + data.values,
        vocabulary_size=FIRST_TOKEN + data.keys + data.keys * data.values + data.values**2,
        shaping=frozenset({"keys", "values", "lean", "examples", "compose_seed"}),
        sizes=("keys", "values"),
        what=f"two look-ups composed, over {data.keys} keys and {data.values} values",
    )
