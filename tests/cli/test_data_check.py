"""`incrt data check`: the account, what would stop a run, what should make one think."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incrt_cli.cli.main import run
from tests.data.files import write_fasta, write_table

SMALL = [
    "model.width=8",
    "model.head_width=2",
    "model.value_width=2",
    "train.threads=1",
    "train.batch_size=4",
]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Forty genomes of two lineages, each joined, short and different."""
    letters = "ACGT"
    genomes = [letters[i % 4] + letters[i // 4 % 4] + letters[i // 16] + "ACGGT" * 4 for i in range(40)]
    write_fasta(tmp_path / "s.fasta", [(f"g{i}", genome) for i, genome in enumerate(genomes)])
    write_table(tmp_path / "m.tsv", ["strain", "lineage"], [(f"g{i}", f"B.{i % 2}") for i in range(40)])
    path = tmp_path / "config.yaml"
    path.write_text(
        "name: small\ndata:\n  kind: fasta\n  k: 3\n  stride: 1\n"
        f"  sequences: {tmp_path / 's.fasta'}\n  metadata: {tmp_path / 'm.tsv'}\n"
    )
    return path


def as_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_sound_data_passes_with_account_and_estimate(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["data", "check", str(config), "--json", *SMALL]) == 0
    found = as_json(capsys)
    assert found["problems"] == [] and found["account"]["splits"]["train"]["records"] == 32
    assert [cost["heads"] for cost in found["estimate"]["step_costs"]] == [1, 32]
    assert all(cost["seconds"] > 0 and cost["peak_mib"] > 0 for cost in found["estimate"]["step_costs"])
    assert 0.0 <= found["estimate"]["padding"] < 1.0
    assert found["estimate"]["steps"] == 80 and set(found["sha256"]) == {
        str(tmp_path / name) for name in ("s.fasta", "m.tsv")
    }


def test_a_config_that_cannot_be_read_is_a_json_object_too(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["data", "check", str(config), "data.k=nine", "--json"]) == 2
    found = as_json(capsys)
    assert "data.k: expected a whole number" in found["problems"][0] and found["account"] is None


def test_the_table_says_the_same_and_no_run_folder_is_made(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run(["data", "check", str(config), *SMALL]) == 0
    text = capsys.readouterr().out
    assert "sequences: 40 read, 40 kept" in text and "80 steps of" in text
    assert not list((tmp_path / "elsewhere").iterdir())


def test_every_problem_is_found_in_one_go(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["data.max_tokens=5", "data.min_class_size=30", "--no-estimate", "--json"]
    assert run(["data", "check", str(config), *arguments]) == 2
    first, second = as_json(capsys)["problems"]
    assert "40 records have more tokens than data.max_tokens = 5" in first
    assert "a classification needs two classes" in second


def test_a_limit_that_stops_the_run_still_shows_the_account(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["data", "check", str(config), "data.max_tokens=5", "--json", *SMALL]) == 2
    found = as_json(capsys)
    assert len(found["problems"]) == 1 and found["account"]["bases_lost"]["too_long"] == 40
    assert any(warning.startswith("bases lost: ") for warning in found["warnings"])


@pytest.mark.parametrize(
    ("rows", "warning"),
    [
        (
            [(f"g{i}", "None" if i % 2 else "B.1") for i in range(40)],
            "1 of 2 classes look like missing values: None",
        ),
        (
            [(f"g{i}", "AB"[i % 2] if i < 30 else "") for i in range(40)],
            "sequences: 10 of 40 dropped: no label",
        ),
        (
            [(f"g{i}", "C" if i == 9 else "AB"[i % 2]) for i in range(40)],
            "1 small classes are left out: 1 records",
        ),
    ],
)
def test_what_should_make_one_think_is_a_warning(
    config: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: list[tuple[str, str]],
    warning: str,
) -> None:
    write_table(tmp_path / "m.tsv", ["strain", "lineage"], rows)
    assert run(["data", "check", str(config), "--no-estimate", "--json"]) == 0
    assert warning in as_json(capsys)["warnings"]


def test_reverse_complements_and_contradictions_are_warnings(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turned = str.maketrans("ACGT", "TGCA")
    bases = [("ACGGTTACATTGCAAGTCCATGACGGATTTACGCC" * 3)[i : i + 70] for i in range(20)]
    records = [(f"g{i}", b if i % 5 else b.translate(turned)[::-1]) for i, b in enumerate(bases)]
    write_fasta(tmp_path / "s.fasta", [("g20", bases[3]), *records])
    write_table(tmp_path / "m.tsv", ["strain", "lineage"], [(f"g{i}", "AB"[i % 2]) for i in range(21)])
    assert run(["data", "check", str(config), "--no-estimate", "--json"]) == 0
    warnings = as_json(capsys)["warnings"]
    assert any(
        w.startswith("4 reverse complements of the first sequence (e.g. g0, g5, g10)") for w in warnings
    )
    assert "2 records equal one that has another label" in warnings
