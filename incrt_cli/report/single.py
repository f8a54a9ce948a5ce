"""The tables that only a single run's report has: its layers' certificate and its classes."""

from __future__ import annotations

from typing import Any

from incrt_cli.report.rows import entries, flag, number
from incrt_cli.report.table import Table, decimal, percent, significant, whole, yes_no
from incrt_cli.rundir import Run

CLASSES_SHOWN = 20
_FUNCTIONAL_NOTES = (
    "W = Γ² + c K; by events: the sum of ΔW of births, captures and prunes, each at fixed C and weights, "
    "where the theorem asks for ΔW < 0; by drift: all that training itself changed, which the theorem says "
    "nothing of.",
    "Shares are of |by events| + |by drift|. The limit holds for a run without drift.",
)


def certificate_table(run: Run) -> Table | None:
    """Why each layer stopped (METHOD §4, Theorem 6); None where the run holds no certificate."""
    layers = entries(run.result, "certificate")
    if not layers:
        return None
    columns = (
        "layer", "planes", "λ_max", "θ", "sufficient", "least release energy", "φ_g", "minimal", "Γ",
        "captured share %", "events", "last event",
    )  # fmt: skip
    return Table("Certificate per layer", columns, tuple(_layer_line(layer) for layer in layers))


def _layer_line(layer: dict[str, Any]) -> tuple[str, ...]:
    release = number(layer, "min_release")
    return (
        whole(number(layer, "layer")),
        whole(number(layer, "planes")),
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


def functional_table(run: Run) -> Table | None:
    """What became of W = Γ² + c K in each layer (METHOD §4, Theorem 6); None without such an account."""
    layers = [layer for layer in entries(run.result, "certificate") if number(layer, "w_start") is not None]
    if not layers:
        return None
    columns = (
        "layer", "W at the start", "by events", "by drift", "share of events %", "share of drift %",
        "W at the end", "events", "limit W⁽⁰⁾/δ", "events with ΔW ≥ 0",
    )  # fmt: skip
    lines = tuple(_functional_line(layer, run) for layer in layers)
    return Table("Energy functional", columns, lines, _FUNCTIONAL_NOTES)


def _functional_line(layer: dict[str, Any], run: Run) -> tuple[str, ...]:
    events, drift = (number(layer, key) or 0.0 for key in ("w_events", "w_drift"))
    moved = abs(events) + abs(drift)
    changes = [
        number(event, "delta_w")
        for event in run.events or ()
        if event.get("layer") == layer.get("layer") and event.get("kind") in ("birth", "capture", "prune")
    ]
    rising = sum(change is None or change >= 0 for change in changes)
    return (
        whole(number(layer, "layer")),
        significant(number(layer, "w_start")),
        significant(events),
        significant(drift),
        percent(abs(events) / moved if moved else None),
        percent(abs(drift) / moved if moved else None),
        significant(number(layer, "w_end")),
        whole(number(layer, "events")),
        whole(number(layer, "event_limit")),
        f"{rising} of {len(changes)}",
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
