"""The shipped configs on real genomes and sentences, a few steps each."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import Run, read_run
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
FEW = [
    "train.epochs=0.05",
    "gate.check_every=2",
    "gate.calibration_batches=2",
    "gate.variant=paper",
    "baseline=false",
]
pytestmark = [pytest.mark.shared_data, pytest.mark.slow]


def _train(config: str, folder: Path, *overrides: str) -> Run:
    return read_run(train(load_config(CONFIGS / config, [*overrides, *FEW]), folder, Silent(), summarise_run))


@pytest.mark.parametrize(
    ("config", "settings"), [("cov2_gisaid.yaml", []), ("cov2_mutations.yaml", ["train.epochs=0.2"])]
)
def test_gisaids_archives(shared_data: Path, tmp_path: Path, config: str, settings: list[str]) -> None:
    genomes = shared_data / "sars_cov_2"
    run = _train(
        config,
        tmp_path / "run",
        f"data.sequences={genomes}/sequences_fasta_2021_09_09.tar.xz",
        f"data.metadata={genomes}/metadata_tsv_2021_09_09.tar.xz",
        f"data.reference={genomes}/reference_MN908947.3.fasta",
        f"data.genes={genomes}/genes.gff3",
        *settings,
    )
    assert run.status == "complete" and run.problems == ()
    assert len(run.result["per_class"]) == 44 and run.result["test_records"] == 248
    assert run.result["births"] > 0


def test_sst2(shared_data: Path, tmp_path: Path) -> None:
    run = _train("sst2.yaml", tmp_path / "run", f"data.path={shared_data}/sst2")
    assert run.status == "complete" and run.problems == ()
    assert {score["label"]: score["support"] for score in run.result["per_class"]} == {"0": 428, "1": 444}
    assert run.result["unseen"]["records"] == 872
