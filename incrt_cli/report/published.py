"""The figures that METHOD §11 quotes from the literature, to stand beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrt_cli.report.results import accuracy_cell
from incrt_cli.report.rows import Row, run_row, section
from incrt_cli.report.table import ABSENT, Table, decimal, whole
from incrt_cli.rundir import Run


@dataclass(frozen=True)
class Published:
    """One published result; `accuracy` in percent and `parameters` as their source prints them."""

    system: str
    accuracy: str
    predicted: int | None = None
    observed: int | None = None
    parameters: str = ABSENT


SYNTHETIC = "SARS-CoV-2, synthetic"
GENOMES = "SARS-CoV-2, GISAID"
SST2 = "SST-2"

PUBLISHED: dict[str, tuple[Published, ...]] = {
    SYNTHETIC: (Published("INCRT paper, variants", "99.47–99.94", 191, 191, "15–30 M"),),
    GENOMES: (
        Published("INCRT paper, variants", "99.91", 130, 130, "29.9 M"),
        Published("BERT-base in the INCRT paper, variants", "99.12", parameters="110 M"),
        Published("Nextclade, lineages", "97.8"),
        Published("UShER, lineages", "99.7"),
        Published("pangoLEARN, lineages", "98.0"),
    ),
    SST2: (
        Published("INCRT paper", "76.15", 160, 142),
        Published("static model in the INCRT paper", "74.66", observed=160),
        Published("BERT-base in the INCRT paper", "93.5"),
        Published("CNN-rand (Kim 2014)", "82.7"),
        Published("TF-IDF + logistic regression, fastText", "about 80–82"),
    ),
}

_TASK_NOTES = {
    SYNTHETIC: f"{SYNTHETIC}: the paper's 99.47–99.94 spans both of its genome tasks.",
    GENOMES: f"{GENOMES}: the lineage tools' figures are over about 1.2 M designated genomes.",
    SST2: f"{SST2}: 872 validation sentences; 76.15 and 74.66 are 664 and 651 of them, within one standard "
    "error (1.45 points).",
}
_NOTE = (
    "INCRT paper: arXiv 2604.10703. Published runs had other data, classes and model sizes: the lines stand "
    "side by side, they are no ranking. Predicted is k_law for our runs; runs on permuted labels are left "
    "out."
)


def published_table(runs: Sequence[Run]) -> Table | None:
    """The published figures of each task that `runs` have, followed by these runs; None for no such task."""
    lines: list[tuple[str, ...]] = []
    notes: list[str] = []
    for task, figures in PUBLISHED.items():
        ours = [run_row(run) for run in runs if published_task(run) == task]
        ours = [row for row in ours if not row["permuted_labels"]]
        if ours:
            lines += [_published_line(task, figure) for figure in figures]
            lines += [_our_line(task, row) for row in ours]
            notes.append(_TASK_NOTES[task])
    if not lines:
        return None
    columns = ("task", "system", "predicted heads", "heads", "ratio", "accuracy %", "parameters")
    return Table("Published figures beside ours", columns, tuple(lines), (*notes, _NOTE), text_columns=2)


def published_task(run: Run) -> str | None:
    """Which published task a run's data belongs with; None for any other text."""
    data = section(run.config, "data")
    if data.get("kind") == "text":
        source = f"{data.get('hub')} {data.get('path')}".lower().replace("-", "")
        return SST2 if "sst2" in source else None
    return {"synthetic": SYNTHETIC, "fasta": GENOMES}.get(str(data.get("kind")))


def _published_line(task: str, figure: Published) -> tuple[str, ...]:
    both = figure.predicted is not None and figure.observed is not None
    ratio = decimal((figure.observed or 0) / (figure.predicted or 1), 2) if both else ABSENT
    return (
        task,
        figure.system,
        whole(figure.predicted),
        whole(figure.observed),
        ratio,
        figure.accuracy,
        figure.parameters,
    )


def _our_line(task: str, row: Row) -> tuple[str, ...]:
    return (
        task,
        f"this report: {row['name']}",
        decimal(row["k_law"]),
        whole(row["heads"]),
        decimal(row["ratio"], 2),
        accuracy_cell(row, digits=2),
        whole(row["parameters"]),
    )
