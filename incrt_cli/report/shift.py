"""The tables of a run whose distribution changed under way (METHOD §8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from incrt_cli.report.course import shift_step
from incrt_cli.report.rows import finite, number, section
from incrt_cli.report.table import Table, decimal, percent, significant, whole
from incrt_cli.rundir import Run

_POPULATIONS = ("before", "after")
_UNDONE = "prune_undone"


def shift_tables(run: Run) -> list[Table]:
    """Accuracy and events on both sides of the shift, and every prune; none for a stationary run."""
    step = shift_step(run)
    if step is None:
        return []
    return [_accuracy_table(run, step), _events_table(run, step), *_prunes_table(run, step)]


def _accuracy_table(run: Run, shift: float) -> Table:
    looks = [row for row in run.metrics or () if row.get("kind") == "evaluation"]
    steps = sorted({row["step"] for row in looks if number(row, "step") is not None})
    last_before = max((step for step in steps if step <= shift), default=None)
    first_after = min((step for step in steps if step > shift), default=None)
    moments = {
        "just before the shift": last_before,
        "just after": first_after,
        "at the end": max(steps, default=None),
    }
    lines = [_moment_line(moment, step, looks) for moment, step in moments.items()]
    tested = section(section(run.result, "shift"), "populations")
    cells = tuple(percent(number(section(tested, name), "accuracy")) for name in _POPULATIONS)
    lines.append(("at the end, test records", whole(number(run.result or {}, "steps")), *cells))
    columns = ("when", "step", "accuracy % before", "accuracy % after")
    note = "Before and after: the populations on both sides of the shift, on the split that training watches."
    return Table("Accuracy on both populations", columns, tuple(lines), (note,))


def _moment_line(moment: str, step: float | None, looks: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    found = {row.get("population"): number(row, "accuracy") for row in looks if row.get("step") == step}
    return (moment, whole(step), *(percent(found.get(name)) for name in _POPULATIONS))


def _events_table(run: Run, shift: float) -> Table:
    kinds = {
        "births": "birth",
        "captures": "capture",
        "layers": "layer",
        "prunes": "prune",
        "prunes undone": _UNDONE,
    }
    events = [(event.get("kind"), number(event, "step")) for event in run.events or ()]
    lines = tuple(
        (name, *(whole(sum(kind == wanted and late == after for kind, late in sides)) for after in (0, 1)))
        for name, wanted in kinds.items()
        for sides in [[(kind, int(step > shift)) for kind, step in events if step is not None]]
    )
    # The check that follows the last step before the shift has seen nothing of what comes.
    note = f"The shift comes after step {whole(shift)}; an event at that step is counted before it."
    return Table("Events and the shift", ("event", "before", "after"), lines, (note,))


def _prunes_table(run: Run, shift: float) -> list[Table]:
    prunes = [event for event in run.events or () if event.get("kind") in ("prune", _UNDONE)]
    if not prunes:
        return []
    at_shift = _releases_at(run, shift)
    columns = (
        "fate", "step", "layer", "head", "release at the shift", "release", "φ_g", "loss before",
        "loss after",
    )  # fmt: skip
    lines = tuple(
        (
            "undone" if event["kind"] == _UNDONE else "pruned",
            whole(number(event, "step")),
            whole(number(event, "layer")),
            whole(number(event, "head")),
            significant(at_shift.get((event.get("layer"), str(event.get("head"))))),
            significant(number(event, "release")),
            significant(number(event, "phi_g")),
            decimal(number(event, "loss_before"), 4),
            decimal(number(event, "loss_after"), 4),
        )
        for event in prunes
    )
    notes = (
        "Release: √E_h, what leaving the head's plane would return to Γ; at the shift: at the last check "
        "before it, – for a head that was not there. Losses: one training batch, nats.",
    )
    return [Table("Heads pruned", columns, lines, notes)]


def _releases_at(run: Run, shift: float) -> dict[tuple[Any, str], float]:
    """√E_h by (layer, head) at each layer's last check up to the shift."""
    found: dict[Any, dict[tuple[Any, str], float]] = {}
    for row in run.metrics or ():
        step = number(row, "step")
        if row.get("kind") == "check" and step is not None and step <= shift:
            layer = row.get("layer")
            releases = {name: finite(value) for name, value in section(row, "releases").items()}
            found[layer] = {(layer, name): v for name, v in releases.items() if v is not None}
    return {key: value for layer in found.values() for key, value in layer.items()}
