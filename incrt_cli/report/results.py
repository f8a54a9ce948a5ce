"""The tables with one line per run: results, cost, heads, and why growth stopped."""

from __future__ import annotations

from collections.abc import Sequence

from incrt_cli.report.rows import Row, entries, number, run_row, section
from incrt_cli.report.table import ABSENT, Table, decimal, percent, whole, yes_no
from incrt_cli.rundir import Run

COUNT_NOTES = (
    "k_law: κ² ln(Γ/θ), the paper's law with its constant taken as 1; k_greedy: heads that a frozen operator "
    "would grow; k_bound: an upper bound for a frozen operator, which training can exceed.",
    "Γ: all the energy left uncaptured; θ: what a direction must exceed for a birth. At most one head a "
    "layer is born per check, so steps / gate.check_every bounds the births of a layer too.",
)
FIRST_NOTE = "Predicted first: the prediction's time is before the first step's."
_STOP_NOTES = (
    "Sufficient: no layer would grow (λ_max ≤ θ, or no free plane left). Minimal: every head's release "
    "energy reaches the pruning threshold φ_g; – where no head owns a plane.",
    "Captures: planes that a head took which was there already (gate.attribution), so that none was born.",
    "Both words are about directional energy and not accuracy. The heads present at the start own no plane "
    "and are never pruned.",
)
_TASK_NOTE = (
    "gate.variant: significance, though, asks the task: λ_max is the rate at which a further head could "
    "lower the loss of the reserved records, θ is gate.critical_t standard errors of it. Sufficient: "
    "that rate was not significant when growth closed, or the task is solved. It decides every "
    "gate.settle / 2 steps, never prunes, and does not aim at k_law or its like."
)


def results_table(runs: Sequence[Run]) -> Table:
    """Accuracy with its standard error and support, beside what needs no transformer."""
    rows = [run_row(run) for run in runs]
    columns = (
        "run", "accuracy % (n)", "macro-F1 %", "classes", "majority %", "unseen % (n)", "baseline %",
    )  # fmt: skip
    lines = tuple(_result_line(run, row) for run, row in zip(runs, rows, strict=True))
    return Table("Results", columns, lines, _result_notes(runs, rows))


def _result_line(run: Run, row: Row) -> tuple[str, ...]:
    unseen = percent(row["unseen_accuracy"])
    return (
        run_label(row),
        accuracy_cell(row),
        percent(row["macro_f1"]),
        whole(len(entries(run.result, "per_class")) or None),
        percent(row["majority_accuracy"]),
        unseen if unseen == ABSENT else f"{unseen} ({whole(row['unseen_records'])})",
        _baseline_cell(run),
    )


def _result_notes(runs: Sequence[Run], rows: Sequence[Row]) -> tuple[str, ...]:
    notes = [
        "n: test records; ±: binomial standard error; majority: always answering the commonest class; "
        "unseen: the test records whose input (the tokens the model reads) does not occur in training."
    ]
    if any(row["accuracy"] == 1 for row in rows):
        # The standard error of a share of exactly 1 is 0, which claims more than was seen.
        notes.append("100 % of n records still allows an error rate of up to about 3/n (95 % confidence).")
    notes += [f"{run.name}: {'; '.join(run.problems)}." for run in runs if run.problems]
    return tuple(notes)


def cost_table(runs: Sequence[Run]) -> Table:
    """Parameters at the start and at the end; epochs, optimiser steps, wall-clock time; padding, in per cent
    of the positions of training batches.
    """
    columns = ("run", "parameters at start", "parameters", "epochs", "steps", "seconds", "padding %")
    lines = tuple(
        (
            run_label(row),
            whole(row["parameters_start"]),
            whole(row["parameters"]),
            _epochs_cell(run),
            whole(row["steps"]),
            decimal(row["seconds"]),
            percent(row["padding"]),
        )
        for run, row in zip(runs, map(run_row, runs), strict=True)
    )
    return Table("Cost", columns, lines)


def heads_table(runs: Sequence[Run]) -> Table:
    """Heads predicted before the first step (METHOD §5) beside the heads grown."""
    columns = ("run", "k_law", "k_greedy", "k_bound", "heads", "heads / k_law", "predicted first")
    lines = tuple(
        (
            run_label(row),
            decimal(row["k_law"]),
            whole(row["k_greedy"]),
            whole(row["k_bound"]),
            whole(row["heads"]),
            decimal(row["ratio"], 2),
            predicted_first(row),
        )
        for row in map(run_row, runs)
    )
    return Table("Heads predicted and grown", columns, lines, (*COUNT_NOTES, FIRST_NOTE))


def stop_table(runs: Sequence[Run]) -> Table:
    """What ended growth, and whether the certificate of METHOD §4 (Theorem 6) holds."""
    columns = (
        "run", "births", "captures", "prunes", "sufficient", "minimal", "last event", "of steps",
        "growth stopped",
    )  # fmt: skip
    lines = tuple(
        (
            run_label(row),
            whole(row["births"]),
            whole(row["captures"]),
            whole(row["prunes"]),
            yes_no(row["sufficient"]),
            _minimal_cell(run, row),
            whole(row["last_event_step"]),
            whole(row["steps"]),
            _stop_cell(row),
        )
        for run, row in zip(runs, map(run_row, runs), strict=True)
    )
    notes = (*_STOP_NOTES, _TASK_NOTE) if any(map(_asks_task, runs)) else _STOP_NOTES
    return Table("Why growth stopped", columns, lines, notes)


def _asks_task(run: Run) -> bool:
    gate = section(run.config, "gate")
    return gate.get("variant") == "significance" and gate.get("enabled") is not False


def run_label(row: Row) -> str:
    return f"{row['name']} (permuted labels)" if row["permuted_labels"] else str(row["name"])


def predicted_first(row: Row) -> str:
    # A static model's prediction.json is written beforehand too, but predicts nothing.
    return ABSENT if row["k_law"] is None else yes_no(row["prediction_before_first_step"])


def accuracy_cell(row: Row, digits: int = 1) -> str:
    """For example `99.4 ± 0.3 (872)`: percent, standard error, records."""
    accuracy = percent(row["accuracy"], digits)
    if row["accuracy_se"] is None:
        return accuracy
    return f"{accuracy} ± {percent(row['accuracy_se'], digits)} ({whole(row['test_records'])})"


def _baseline_cell(run: Run) -> str:
    baseline = section(run.result, "baseline")
    accuracy = percent(number(baseline, "accuracy"))
    return accuracy if accuracy == ABSENT else f"{accuracy} ({baseline.get('name', 'unnamed')})"


def _epochs_cell(run: Run) -> str:
    epochs = number(section(run.config, "train"), "epochs")  # may be fractional
    return ABSENT if epochs is None else f"{epochs:,g}"


def _minimal_cell(run: Run, row: Row) -> str:
    layers = entries(run.result, "certificate")
    # With no plane owned there is nothing that could be released: the condition holds emptily.
    empty = bool(layers) and all(number(layer, "min_release") is None for layer in layers)
    return ABSENT if empty else yes_no(row["minimal"])


def _stop_cell(row: Row) -> str:
    if row["growing"] is False:
        return "static model"
    if row["stopped_by_itself"] is None:
        return ABSENT
    return "by itself" if row["stopped_by_itself"] else "training ended"
