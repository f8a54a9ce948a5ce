"""Tables of the three criteria: planes, rank correlations, eigenplanes against random ones (METHOD §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrt_cli.report.rows import number
from incrt_cli.report.table import ABSENT, Table, decimal, significant, whole

_NAMES = {
    "lambda": "λ",
    "ntk": "NTK",
    "ntk_unbiased": "NTK without noise",
    "decrease": "loss decrease",
}
_MILLI = 1000.0  # decreases are shown in thousandths of a nat


def diagnosis_tables(figures: Mapping[str, Any]) -> list[Table]:
    return [_planes_table(figures), _correlation_table(figures), _means_table(figures)]


def _planes_table(figures: Mapping[str, Any]) -> Table:
    lines = tuple(
        (
            f"{row['kind']} {row['rank']}",
            *(significant(number(row, key)) for key in ("lambda", "lambda_min", "ntk", "ntk_unbiased")),
            _milli(row, "decrease"),
            _milli(row, "decrease_se"),
        )
        for row in figures["planes"]
    )
    columns = ("plane", "λ", "λ_min", "NTK", "NTK without noise", "loss decrease (10⁻³ nats)", "± over draws")
    return Table("Three criteria", columns, lines, _plane_notes(figures))


def _plane_notes(figures: Mapping[str, Any]) -> tuple[str, ...]:
    found = sum(row["kind"] == "eigen" for row in figures["planes"])
    asked = figures["planes_asked"]
    fewer = f" It leaves room for {found} planes of {asked} asked for." if found < asked else ""
    model = "the trained model" if figures["trained"] else "the initial model"
    return (
        f"Of {model}, seed {figures['seed']}, layer {figures['layer']} with {figures['heads']} head(s); "
        f"Q spans {figures['captured']} of {figures['width']} directions ({figures['captured_from']})."
        f"{fewer}",
        "λ: the largest Rayleigh quotient of A_res in the plane. NTK: E‖∂L/∂W_O‖² of a head born there; "
        "without noise: from products of different batches alone.",
        f"Loss decrease: after {figures['steps']} steps of that head alone, on {figures['judged_rows']} rows "
        f"({figures['judged_on']}) not used for them, from {significant(number(figures, 'loss'))} nats.",
        f"Means over {figures['draws']} draws of a newborn's random weights, the same for all planes, and "
        "over both signs of its motor.",
    )


def _correlation_table(figures: Mapping[str, Any]) -> Table:
    lines = tuple(
        (
            f"{_NAMES[row['a']]}, {_NAMES[row['b']]}",
            row["over"],
            whole(number(row, "n")),
            decimal(number(row, "rho"), 2),
            _interval(row, "low", "high", lambda value: decimal(value, 2)),
            _p_value(number(row, "p")),
        )
        for row in figures["correlations"]
    )
    agreement = ", ".join(
        f"{_NAMES[name]} {decimal(value, 2)}" for name, value in figures["agreement"].items()
    )
    notes = (
        "Spearman's ρ over planes, its 95 % bootstrap interval, p by permutation. Over all planes ρ also "
        "holds the difference between the two kinds.",
        "Rank correlation of a score between one half of the draws and the other, over all planes: "
        f"{agreement}. Where it is low, the draw decides more than the plane.",
    )
    columns = ("scores", "over", "planes", "ρ", "95 %", "p")
    return Table("Rank correlations", columns, lines, notes, 2)


def _means_table(figures: Mapping[str, Any]) -> Table:
    lines = tuple(_means_line(row) for row in figures["means"])
    columns = (
        "score", "eigenplanes", "95 %", "random planes", "95 %", "difference", "95 %", "p",
        "eigen 1 beats",
    )  # fmt: skip
    notes = (
        "Mean scores with 95 % bootstrap intervals over planes, p by permutation; eigen 1, where the next "
        "head would be born, against each random plane.",
    )
    return Table("Eigenplanes against random planes", columns, lines, notes)


def _means_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    cells: list[str] = []
    for mean, low, high in (
        ("eigen_mean", "eigen_low", "eigen_high"),
        ("random_mean", "random_low", "random_high"),
        ("difference", "low", "high"),
    ):
        cells += [significant(number(row, mean)), _interval(row, low, high, significant)]
    return (
        _NAMES[row["score"]],
        *cells,
        _p_value(number(row, "p")),
        f"{row['first_beats']} of {row['of']}",
    )


def _interval(row: Mapping[str, Any], low: str, high: str, shown: Any) -> str:
    bounds = number(row, low), number(row, high)
    return ABSENT if None in bounds else f"{shown(bounds[0])} to {shown(bounds[1])}"


def _milli(row: Mapping[str, Any], key: str) -> str:
    value = number(row, key)
    return ABSENT if value is None else decimal(_MILLI * value, 3)


def _p_value(value: float | None) -> str:
    return "< 0.001" if value is not None and value < 0.001 else decimal(value, 3)
