"""Complexities as the plain figures that are printed and written."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from incrt_cli.complexity.weights import Measured
from incrt_cli.geometry.complexity import Complexity, Term

_MATRICES = ("QK", "V", "M_in", "M_out")


def model_figures(measured: Measured) -> dict[str, Any]:
    """Totals and one row for every layer and kind of matrix."""
    rows = []
    for layer in range(len(measured.heads)):
        for matrix in _MATRICES:
            terms = [t for t in measured.complexity.terms if (t.layer, t.matrix) == (layer, matrix)]
            rows += [_row(terms)] if terms else []
    return {
        **totals(measured.complexity),
        "layers": len(measured.heads),
        "model_width": measured.width,
        "heads": list(measured.heads),
        "rows": rows,
    }


def totals(complexity: Complexity) -> dict[str, float]:
    """Both factors; `log10_b_norm` is finite where `b_norm` leaves the range of a float."""
    return {
        "b_adaptive": complexity.b_adaptive,
        "b_norm": complexity.b_norm,
        "ratio": complexity.ratio,
        "log10_b_norm": complexity.log_b_norm / math.log(10.0),
    }


def _row(terms: Sequence[Term]) -> dict[str, Any]:
    indices = [term.p for term in terms]
    return {
        "layer": terms[0].layer,
        "matrix": terms[0].matrix,
        "matrices": len(terms),
        "p_min": min(indices),
        "p_median": statistics.median(indices),
        "contribution": math.fsum(term.value for term in terms),
        "mean_rank": statistics.fmean(term.spectrum.rank for term in terms),
        "largest_norm": max(term.spectrum.norm for term in terms),
    }
