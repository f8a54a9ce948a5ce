"""The tables that only a single run's report has: its layers' certificate and its classes."""

from __future__ import annotations

from typing import Any

from incrt_cli.report.rows import entries, flag, number
from incrt_cli.report.table import Table, decimal, percent, significant, whole, yes_no
from incrt_cli.rundir import Run

CLASSES_SHOWN = 20


def certificate_table(run: Run) -> Table | None:
    """Why each layer stopped (METHOD §4, Theorem 6); None where the run holds no certificate."""
    layers = entries(run.result, "certificate")
    if not layers:
        return None
    columns = (
        "layer", "λ_max", "θ", "sufficient", "least release energy", "φ_g", "minimal", "Γ",
        "captured share %", "events", "last event",
    )  # fmt: skip
    return Table("Certificate per layer", columns, tuple(_layer_line(layer) for layer in layers))


def _layer_line(layer: dict[str, Any]) -> tuple[str, ...]:
    release = number(layer, "min_release")
    return (
        whole(number(layer, "layer")),
        significant(number(layer, "lambda_max")),
        significant(number(layer, "theta")),
        yes_no(flag(layer, "sufficient")),
        significant(release),
        significant(number(layer, "phi_g")),
        yes_no(None if release is None else flag(layer, "minimal")),
        significant(number(layer, "gamma")),
        percent(number(layer, "captured_share")),
        whole(number(layer, "events")),
        whole(number(layer, "last_event_step")),
    )


def classes_table(run: Run) -> Table | None:
    """Precision, recall and F1 per class with support, the largest classes first."""
    classes = sorted(entries(run.result, "per_class"), key=lambda c: -(number(c, "support") or 0))
    if not classes:
        return None
    shown = classes[:CLASSES_SHOWN]
    notes: tuple[str, ...] = ()
    if len(classes) > len(shown):
        rest = sum(number(c, "support") or 0 for c in classes[CLASSES_SHOWN:])
        notes = (
            f"The {len(shown)} largest of {len(classes)} classes; "
            f"the other {len(classes) - len(shown)} have {rest:,} test records together.",
        )
    columns = ("class", "test records", "precision %", "recall %", "F1 %")
    return Table("Classes", columns, tuple(_class_line(item) for item in shown), notes)


def _class_line(item: dict[str, Any]) -> tuple[str, ...]:
    # Of a class without test records there is nothing to say; 0.0 would read as a failure.
    tested = bool(number(item, "support"))
    scores = tuple(percent(number(item, key) if tested else None) for key in ("precision", "recall", "f1"))
    return (str(item.get("label")), decimal(number(item, "support"), 0), *scores)
