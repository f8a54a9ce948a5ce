"""Tables of complexity factors: of one model, of a grid of shapes, and along a run (METHOD §10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrt_cli.report.rows import number
from incrt_cli.report.table import Table, decimal, percent, significant, whole
from incrt_cli.rundir import Run

NOTE = (
    "These are leading complexity factors and not numeric risk bounds: residuals, LayerNorm and embeddings "
    "are outside the theory. They compare models; alone they promise no error rate."
)
_ROWS_SHOWN = 20
_FACTORS = {"b_adaptive": "B_adaptive", "b_norm": "B_norm"}


def model_tables(figures: Mapping[str, Any]) -> list[Table]:
    """Both factors of a model, and one line for every layer and kind of matrix."""
    heads = sum(figures["heads"])
    sizes = (whole(figures["layers"]), whole(figures["model_width"]), whole(heads))
    columns = ("layers", "width", "heads", "B_adaptive", "B_norm", "B_norm / B_adaptive")
    factors = Table("Complexity factors", columns, ((*sizes, *_factor_cells(figures)),), (NOTE,), 0)
    return [factors, _matrix_table(figures)]


def _matrix_table(figures: Mapping[str, Any]) -> Table:
    columns = (
        "layer", "matrix", "matrices", "p (least)", "p (median)", "contribution", "rank (mean)",
        "spectral norm (largest)",
    )  # fmt: skip
    lines = tuple(
        (
            whole(row["layer"]),
            row["matrix"],
            whole(row["matrices"]),
            decimal(row["p_min"], 2),
            decimal(row["p_median"], 2),
            decimal(row["contribution"]),
            decimal(row["mean_rank"]),
            significant(row["largest_norm"]),
        )
        for row in figures["rows"]
    )
    note = (
        "QK: W_Q W_Kᵀ and V: W_V W_O, one of each per head; p: the Schatten index at which a matrix "
        "contributes least (0 counts its rank alone); contribution: their sum."
    )
    return Table("Contributions to B_adaptive", columns, lines, (note,), 2)


def grid_tables(figures: Mapping[str, Any]) -> list[Table]:
    """Both factors at every shape of the grid and of trained models, and the exponents of the grid."""
    columns = ("weights", "L", "H", "heads", "B_adaptive", "B_norm", "B_norm / B_adaptive")
    lines = tuple(
        (
            point["trained"] or "as initialised",
            *(whole(point[key]) for key in ("layers", "model_width", "heads")),
            *_factor_cells(point),
        )
        for point in figures["points"]
    )
    shapes = (
        "BERT as it is initialised (sd 0.02): L layers of width H, H/64 heads in each, a feed-forward block "
        "of 4H; and the folders that were given."
    )
    return [
        Table("Complexity factors over depth and width", columns, lines, (shapes, NOTE)),
        _exponent_table(figures),
    ]


def _exponent_table(figures: Mapping[str, Any]) -> Table:
    lines = []
    for row in figures["exponents"]:
        other = "H" if row["in"] == "L" else "L"
        at = "all, an intercept each" if row["at"] is None else f"{other} = {row['at']}"
        cells = (decimal(row["exponent"], 3), decimal(row["standard_error"], 3))
        lines.append((_FACTORS[row["factor"]], row["in"], at, *cells))
    note = (
        "Slopes of ln B on ln L or ln H by least squares. A large standard error says that the factor "
        "follows no power law: B_norm multiplies the layers' norms, which is exponential in L."
    )
    columns = ("factor", "in", "at", "exponent", "standard error")
    return Table("Growth exponents", columns, tuple(lines), (note,), 3)


def tracked_rows(run: Run) -> list[dict[str, Any]]:
    """What `train.complexity` wrote, one row an evaluation."""
    return [row for row in run.metrics or () if row.get("kind") == "complexity"]


def growth_table(run: Run) -> Table | None:
    """Complexity and heads beside the generalisation gap at every evaluation; None where none was tracked."""
    tracked = tracked_rows(run)
    if not tracked:
        return None
    last = len(tracked) - 1
    shown = sorted({round(i * last / (_ROWS_SHOWN - 1)) for i in range(_ROWS_SHOWN)})
    columns = (
        "step", "heads", "B_adaptive", "B_norm", "train loss", "validation loss", "loss gap",
        "train accuracy %", "validation accuracy %", "accuracy gap %",
    )  # fmt: skip
    notes = [NOTE, "Gaps: validation loss less train loss, train accuracy less validation accuracy."]
    if len(shown) < len(tracked):
        notes.append(f"{len(shown)} of {len(tracked)} evaluations, evenly spaced; metrics.jsonl holds all.")
    lines = tuple(_growth_line(tracked[index]) for index in shown)
    return Table("Complexity along training", columns, lines, tuple(notes), 0)


def _growth_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    losses = number(row, "train_loss"), number(row, "validation_loss")
    accuracies = number(row, "train_accuracy"), number(row, "validation_accuracy")
    return (
        whole(number(row, "step")),
        whole(number(row, "heads")),
        *_factor_cells(row)[:2],
        *(decimal(loss, 3) for loss in losses),
        decimal(_difference(losses[1], losses[0]), 3),
        *(percent(share) for share in accuracies),
        percent(_difference(*accuracies)),
    )


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _factor_cells(figures: Mapping[str, Any]) -> tuple[str, str, str]:
    exponent = number(figures, "log10_b_norm")
    beyond = (
        "–" if exponent is None else f"10^{exponent:,.0f}"
    )  # too large for a float, but its logarithm is not
    norm = number(figures, "b_norm")
    return (
        decimal(number(figures, "b_adaptive")),
        beyond if norm is None else significant(norm),
        significant(number(figures, "ratio")),
    )
