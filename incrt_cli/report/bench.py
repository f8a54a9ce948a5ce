"""Tables of `incrt bench`: the ratios in words, every measurement with its spread, cost curves, both runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrt_cli.report.rows import Row, entries, finite, section
from incrt_cli.report.table import ABSENT, Table, significant, whole

# key -> what the figure is; a figure of a part that was left out has no line
_FIGURES = {
    "gate_step_ratio": "a training step with the gate / without",
    "gate_quiet_step_ratio": "the same where the gate asks for no head",
    "conditioning_step_ratio": "a step with conditioning (svd of q, k, v) / without",
    "layer_ratio": "the bank of heads / torch's layer or the same fused operations, the worst, unpadded",
    "loop_ratio": "a loop over one module a head / the bank of heads, K = 130 and d = 256",
    "birth_steps": "a birth that has to make room, in training steps",
    "birth_spare_steps": "a birth into what room there is, in training steps",
    "prune_steps": "a prune, in training steps",
    "exact_look_steps": "an exact look, in training steps",
    "tracker_look_steps": "a look by the trackers, in training steps",
    "tracker_step_steps": "one step of the trackers, in training steps",
    "run_ratio": "a growing run / the static run of its final head count, to the same step",
    "run_to_loss_ratio": "the same, to the static run's last loss",
    "fasta_mb_s": "FASTA to k-mer tokens on one core, MB/s",
    "bytes_mb_s": "reading the same bytes, MB/s",
    "text_rows_s": "sentences to rows, rows/s",
    "tokens_s": "training, tokens/s",
    "step_tflop_s": "training, TFLOP/s",
    "model_flops_share": "the same, as a share of a large matrix product's rate",
}
_NOTE = "Medians of repetitions that take turns in one process; the ratio is that of two medians."


def bench_tables(figures: Mapping[str, Any]) -> list[Table]:
    """Of the figures that `incrt bench --json` prints."""
    tables = [_figures_table(figures)]
    measured = entries(figures, "measurements")
    for part in dict.fromkeys(str(row.get("part")) for row in measured):
        if part != "curves":
            tables.append(_part_table(part, [row for row in measured if row.get("part") == part]))
    if entries(section(figures, "run"), "blocks"):
        tables.append(_run_table(section(figures, "run")))
    if section(figures, "curves"):
        tables.append(_curves_table(figures))
    return tables


def measurement_rows(figures: Mapping[str, Any]) -> list[Row]:
    """One flat row a measurement, its shape as text."""
    return [{**row, "shape": _shape(row)} for row in entries(figures, "measurements")]


def _figures_table(figures: Mapping[str, Any]) -> Table:
    rows = [
        (key, words, significant(finite(figures[key])))
        for key, words in _FIGURES.items()
        if key in figures and (figures[key] is not None or key == "run_to_loss_ratio")
    ]
    for variant, ratio in section(figures, "gate_step_ratios").items():
        words = f"the same with gate.variant {variant}"
        rows.append((f"gate_step_ratios.{variant}", words, significant(finite(ratio))))
    columns = ("figure", "what it is", "value")
    return Table("What growing costs", columns, tuple(rows), _notes(figures), text_columns=2)


def _notes(figures: Mapping[str, Any]) -> tuple[str, ...]:
    place = section(figures, "environment")
    where = place.get("gpu") or place.get("device")
    on = f"On {where}, {place.get('threads')} thread(s) of {place.get('cpu_count')} cores"
    under = f"load {significant(finite(place.get('load')))} at the start, torch {place.get('torch')}"
    quick = (" --quick: a check that it works; these are no measurements.",) if place.get("quick") else ()
    return (_NOTE, f"{on}, {under}, config {place.get('config')}; {place.get('clock')}.", *quick)


def _part_table(part: str, measured: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            str(row.get("what")),
            _shape(row),
            str(row.get("unit")),
            *(significant(finite(row.get(key))) for key in ("median", "q1", "q3")),
            whole(finite(row.get("repetitions"))),
            significant(finite(row.get("ratio"))),
            str(row.get("against") or ABSENT),
        )
        for row in measured
    )
    columns = ("what", "shape", "unit", "median", "25 %", "75 %", "times", "ratio", "to")
    return Table(f"Measured: {part}", columns, rows, text_columns=3)


def _run_table(run: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            *(whole(finite(block.get(key))) for key in ("step", "heads")),
            *(significant(finite(block.get(f"{name}_seconds"))) for name in ("growing", "static")),
        )
        for block in entries(run, "blocks")
    )
    heads = f"The growing run ended with {run.get('growing_heads')} heads, the static one has"
    losses = f"{run.get('loss_on')} losses {_loss(run, 'growing')} and {_loss(run, 'static')}."
    columns = ("to step", "heads", "growing, s", "static, s")
    notes = (f"{heads} {run.get('static_heads')}; {losses}",)
    return Table("Growing and static run, block by block", columns, rows, notes, text_columns=0)


def _loss(run: Mapping[str, Any], name: str) -> str:
    return significant(finite(run.get(f"{name}_loss")))


def _curves_table(figures: Mapping[str, Any]) -> Table:
    exponents = section(figures, "curve_exponents")
    rows = tuple(
        (
            name,
            whole(finite(point.get("x"))),
            *(significant(finite(point.get(key))) for key in ("seconds", "q1", "q3", "relative")),
        )
        for name in section(figures, "curves")
        for point in entries(section(figures, "curves"), name)
    )
    found = ", ".join(f"{name} {significant(finite(value))}" for name, value in exponents.items())
    notes = (f"seconds ∝ x^e over the last half of the points: e = {found}.",)
    columns = ("curve", "x", "seconds", "25 %", "75 %", "to the first")
    return Table("A training step against its shape", columns, rows, notes)


def _shape(row: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in section(row, "shape").items())
