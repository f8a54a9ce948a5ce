"""`incrt data synth` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.cli.main import run
from incrt_cli.data.synthetic import FILES

SMALL = ["data.genomes=12", "data.genome_length=2000"]


def test_synth_writes_what_a_config_can_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "synth", str(tmp_path / "out"), *SMALL]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    printed = capsys.readouterr().out
    assert f"data.sequences={tmp_path / 'out' / 'sequences.fasta'}" in printed
    assert "wrote 12 genomes of 6 variants" in printed


def test_synth_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metadata.tsv").write_text("mine")
    assert run(["data", "synth", str(tmp_path), *SMALL]) == 2
    assert (tmp_path / "metadata.tsv").read_text() == "mine"
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    "overrides, complaint",
    [
        (["data.genome=3"], "data.genomes"),
        (["data.genomes=2"], "every variant needs a genome"),
        (["data.kind=text", "data.path=x"], "only a synthetic population"),
    ],
)
def test_settings_that_cannot_be_used_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], overrides: list[str], complaint: str
) -> None:
    assert run(["data", "synth", str(tmp_path / "out"), *overrides]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
