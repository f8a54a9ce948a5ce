"""From the scores of every plane and draw to the figures that are shown: correlations, means, agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from incrt_cli.diagnosis.planes import Plane
from incrt_cli.diagnosis.statistics import mean_difference, mean_interval, rank_correlation

SCORES = ("lambda", "ntk", "ntk_unbiased", "decrease")
GROUPS = ("eigen", "random", "all")

Floats = npt.NDArray[np.float64]


def figures(planes: Sequence[Plane], looks: Floats, seed: int) -> dict[str, Any]:
    """From `looks` (draws × 3 × P): NTK, unbiased NTK and practical scores of `planes` in every draw."""
    scores = {"lambda": np.array([plane.lambda_max for plane in planes])}
    scores.update(zip(SCORES[1:], looks.mean(axis=0), strict=True))
    kinds = np.array([plane.kind for plane in planes])
    chosen = {"eigen": kinds == "eigen", "random": kinds == "random", "all": kinds != ""}
    return {
        "planes": _rows(planes, scores, looks[:, 2]),
        "correlations": [
            {
                "a": a,
                "b": b,
                "over": group,
                **rank_correlation(scores[a][chosen[group]], scores[b][chosen[group]], seed)._asdict(),
            }
            for a, b in combinations(SCORES, 2)
            for group in GROUPS
        ],
        "means": [_contrast(name, scores[name], chosen, seed) for name in SCORES],
        "agreement": {name: _agreement(looks[:, i], seed) for i, name in enumerate(SCORES[1:])},
    }


def _rows(planes: Sequence[Plane], scores: Mapping[str, Floats], decreases: Floats) -> list[dict[str, Any]]:
    draws = len(decreases)
    error = decreases.std(axis=0, ddof=1) / draws**0.5 if draws > 1 else np.full(len(planes), np.nan)
    return [
        {
            "kind": plane.kind,
            "rank": plane.rank,
            "lambda_min": plane.lambda_min,
            **{name: values[i] for name, values in scores.items()},
            "decrease_se": error[i],
        }
        for i, plane in enumerate(planes)
    ]


def _contrast(name: str, values: Floats, chosen: Mapping[str, Floats], seed: int) -> dict[str, Any]:
    """Eigenplanes against random planes, and how many of the latter the first eigenplane beats."""
    eigen, random = values[chosen["eigen"]], values[chosen["random"]]
    return {
        "score": name,
        **{f"eigen_{key}": value for key, value in mean_interval(eigen, seed)._asdict().items()},
        **{f"random_{key}": value for key, value in mean_interval(random, seed)._asdict().items()},
        **mean_difference(eigen, random, seed)._asdict(),
        "first_beats": int((eigen[0] > random).sum()),
        "of": len(random),
    }


def _agreement(looks: Floats, seed: int) -> float:
    """Rank correlation over planes between one half of the draws (draws × P) and the other.

    Near 0, the order of the planes is that of the draws, and no correlation with another score can show.
    """
    half = len(looks) // 2
    if half == 0:
        return float("nan")
    return rank_correlation(looks[:half].mean(axis=0), looks[half:].mean(axis=0), seed).rho
