"""What `incrt predict-heads` shows: one prediction in full, or predicted against grown heads over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrt_cli.report.results import COUNT_NOTES, FIRST_NOTE, predicted_first, run_label
from incrt_cli.report.rows import entries, finite, number, quotient, run_row
from incrt_cli.report.table import Table, decimal, significant, whole
from incrt_cli.rundir import Run

PLANES_SHOWN = 8
_DIRECTIONS_NOTE = "λ_max and λ_min: the strongest directions that no head has captured; κ: Γ / λ_max."
_NO_LOOK_NOTE = (
    "k_pilot is –: by then some layer had no exact look at its spectrum. One comes at least every "
    "gate.certify_every checks, and checks are gate.check_every steps apart."
)
_HEAD_KEYS = (
    "name", "seed", "k_law", "k_greedy", "k_bound", "observed", "ratio",
    "prediction_before_first_step", "status", "permuted_labels",
)  # fmt: skip


def head_rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Predicted and observed heads per run of ours; what is unknown is None, foreign folders are skipped.

    `prediction_before_first_step` compares the two times that the run folder records.
    """
    rows = [run_row(run) for run in runs if run.status != "foreign"]
    return [{key: row["heads" if key == "observed" else key] for key in _HEAD_KEYS} for row in rows]


def observed_table(runs: Sequence[Run]) -> Table:
    """`head_rows` as a table."""
    columns = (
        "run", "seed", "k_law", "k_greedy", "k_bound", "heads", "heads / k_law",
        "predicted first", "status",
    )  # fmt: skip
    lines = tuple(
        (
            run_label(row),
            whole(row["seed"]),
            decimal(row["k_law"]),
            whole(row["k_greedy"]),
            whole(row["k_bound"]),
            whole(row["observed"]),
            decimal(row["ratio"], 2),
            predicted_first(row),
            row["status"],
        )
        for row in head_rows(runs)
    )
    return Table("Heads predicted and grown", columns, lines, (*COUNT_NOTES, FIRST_NOTE))


def prediction_tables(prediction: Mapping[str, Any]) -> list[Table]:
    """METHOD §5's counts per layer and in total, and the ends of the spectrum that they rest on.

    `prediction` is laid out as in `prediction.json`; a static model's has no layers.
    """
    layers = entries(dict(prediction), "layers")
    if not layers:
        note = "The model is static: it keeps its heads, so there is nothing to predict."
        return [Table("Predicted heads", (), (), (note,))]
    columns = ("layer", "κ", "Γ", "λ_max", "λ_min", "θ", "k_law", "k_greedy", "k_bound")
    lines = [_layer_line(layer) for layer in layers]
    if len(layers) > 1:
        lines.append(("all", "", "", "", "", "", *_counts(prediction)))
    notes = (*COUNT_NOTES, _DIRECTIONS_NOTE)
    return [Table("Predicted heads", columns, tuple(lines), notes), *map(_spectrum_table, layers)]


def pilot_table(pilot: Mapping[str, Any]) -> Table:
    """What a few steps of training say of the count."""
    columns = ("steps", "of", "heads by then", "k_pilot", "seconds")
    cells = (
        *(whole(number(pilot, key)) for key in ("steps", "total_steps", "heads")),
        *(decimal(number(pilot, key)) for key in ("k_pilot", "seconds")),
    )
    note = (
        "k_pilot: what k_greedy has moved by until then, carried on to the end with the root of the learning "
        "rate spent. How far that is off on finished runs, predict-heads --calibrate measures."
    )
    notes = (note,) if number(pilot, "k_pilot") is not None else (note, _NO_LOOK_NOTE)
    return Table("After a few steps", columns, (cells,), notes)


def _layer_line(layer: Mapping[str, Any]) -> tuple[str, ...]:
    energies = (significant(number(layer, key)) for key in _ENERGIES)
    return (whole(number(layer, "layer")), *energies, *_counts(layer))


_ENERGIES = ("kappa", "gamma", "lambda_max", "lambda_min", "theta")


def _counts(values: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        decimal(number(values, "k_law")),
        whole(number(values, "k_greedy")),
        whole(number(values, "k_bound")),
    )


def _spectrum_table(layer: Mapping[str, Any]) -> Table:
    """Both ends of the operator's spectrum: a head takes one direction from each."""
    values = layer.get("eigenvalues")
    # A list when read from a run folder, a tuple when predicted just now.
    ordered = sorted(v for v in values if finite(v) is not None) if isinstance(values, Sequence) else []
    theta = number(layer, "theta")
    planes = min(PLANES_SHOWN, len(ordered) // 2)
    pairs = list(zip(reversed(ordered), ordered, strict=True))[:planes]
    lines = tuple(
        (str(i), significant(top), significant(bottom), decimal(quotient(top, theta), 2))
        for i, (top, bottom) in enumerate(pairs, start=1)
    )
    above = sum(value > theta for value in ordered) if theta is not None else None
    note = f"{len(ordered)} eigenvalues, {whole(above)} of them above θ = {significant(theta)}."
    title = f"Spectrum of layer {whole(number(layer, 'layer'))}"
    return Table(title, ("plane", "λ from above", "λ from below", "λ / θ"), lines, (note,))
