"""What people really download, each shape with the counts that come out of it."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from incrt_cli.config.schema import FastaData
from incrt_cli.data.build import build_task
from incrt_cli.data.task import Task
from incrt_cli.errors import UserError
from tests.files.packing import PACKERS, tar

BASES = "ACGT"
IDS = [f"hCoV-19/Land {i}/X-{i:02d}/2021" for i in range(20)]
SEQUENCES = ["".join(BASES[(i * 7 + j * (i % 5 + 1)) % 4] for j in range(30)) for i in range(20)]


def fasta(headers: list[str]) -> bytes:
    return "".join(f">{header}\n{SEQUENCES[i]}\n" for i, header in enumerate(headers)).encode()


def table(
    ids: list[str], columns: tuple[str, str] = ("Virus name", "Pango lineage"), by: str = "\t"
) -> bytes:
    rows = [columns, *((name, f"B.1.{i % 2}") for i, name in enumerate(ids))]
    return "".join(by.join(row) + "\n" for row in rows).encode()


def build(folder: Path, sequences: bytes | str, metadata: bytes | str, **settings: object) -> Task:
    names = {}
    for key, content in (("sequences", sequences), ("metadata", metadata)):
        # The names say nothing on purpose.
        names[key] = content if isinstance(content, str) else str(folder / key)
        if isinstance(content, bytes):
            (folder / key).write_bytes(content)
    data = {"kind": "fasta", "k": 3, "stride": 3, "min_class_size": 1, **names, **settings}
    return build_task(FastaData.model_validate(data), "task", lambda line: None)


def joined(task: Task) -> tuple[int, int, int]:
    """Sequences read, joined and encoded."""
    stages = task.summary["records"]["stages"]
    return stages["sequences"]["read"], stages["sequences"]["kept"], stages["encoded"]["kept"]


ALL = (20, 20, 20)
GISAID = [f"{name}|EPI_ISL_{i}|2021-01-01" for i, name in enumerate(IDS)]
SPIKE = [
    f"Spike|{name}|2021-01-01|EPI_ISL_{i}|Original|hCoV-19^^Land|Human|Lab" for i, name in enumerate(IDS)
]
SWAPPED = [f"Spike|EPI_ISL_{i}|{IDS[i]}|2021-01-01|Original|hCoV-19^^Land|Human|Lab" for i in (3, 4)]


@pytest.mark.parametrize("packing", sorted(PACKERS))
def test_gisaids_full_download_in_every_packing(tmp_path: Path, packing: str) -> None:
    pack = PACKERS[packing]
    sequences = pack(tar({"readme.txt": b"terms", "sequences.fasta": fasta(GISAID)}))
    metadata = pack(tar({"metadata.tsv": table(IDS), "readme.txt": b"terms"}))
    task = build(tmp_path, sequences, metadata)
    assert joined(task) == ALL
    assert (
        "id column: 'Virus name' (guessed), joined to field 1 of the header (cut at |)"
        in task.summary["notes"]
    )


def test_gisaids_search_download_is_one_tar_of_packed_members(tmp_path: Path) -> None:
    pack = PACKERS["xz"]
    members = {
        "1.metadata.tsv.xz": table(IDS, ("strain", "pango_lineage")),
        "1.sequences.fasta.xz": fasta(IDS),
    }
    (tmp_path / "hcov_19.tar").write_bytes(tar({name: pack(content) for name, content in members.items()}))
    path = str(tmp_path / "hcov_19.tar")
    assert joined(build(tmp_path, path, path)) == ALL


def test_several_fasta_members_are_one_file_after_the_other(tmp_path: Path) -> None:
    records = fasta(GISAID).split(b">")[1:]
    halves = {f"{n}.fasta": b">" + b">".join(records[n * 10 : n * 10 + 10]).rstrip() for n in (0, 1)}
    assert joined(build(tmp_path, tar(halves), table(IDS))) == ALL


@pytest.mark.parametrize(
    ("headers", "metadata", "rule"),
    [
        (SPIKE, table(IDS), "field 2"),
        (SPIKE, table([f"EPI_ISL_{i}" for i in range(20)], ("Accession ID", "Lineage")), "field 4"),
        (IDS, table(IDS, ("strain", "pango_lineage")), "the whole header"),
        ([f"{n}|Africa" for n in GISAID], table(IDS), "field 1"),
        (
            [f"acc{i} a description" for i in range(20)],
            table([f"acc{i}" for i in range(20)], ("genbank_accession", "clade")),
            "first word",
        ),
    ],
    ids=["spikenuc by name", "spikenuc by accession", "nextstrain", "msa", "genbank"],
)
def test_headers_of_each_source_join_whole(
    tmp_path: Path, headers: list[str], metadata: bytes, rule: str
) -> None:
    task = build(tmp_path, fasta(headers), metadata)
    assert joined(task) == ALL and any(rule in note for note in task.summary["notes"])


def test_spike_headers_with_swapped_columns_are_joined_and_named(tmp_path: Path) -> None:
    headers = [*SPIKE[:3], *SWAPPED, *SPIKE[5:]]
    task = build(tmp_path, fasta(headers), table(IDS))
    assert joined(task) == ALL
    (note,) = (note for note in task.summary["notes"] if note.startswith("joined by another field"))
    assert note.startswith(f"joined by another field of the header: 2 (e.g. {SWAPPED[0]} = {IDS[3]}")


def test_nextstrain_without_prefix_and_spaces_joins_gisaids_names(tmp_path: Path) -> None:
    plain = [name.removeprefix("hCoV-19/").replace(" ", "_") for name in IDS]
    metadata = table(plain, ("strain", "Nextstrain_clade"))
    assert joined(build(tmp_path, fasta(GISAID), metadata, min_joined_fraction=1.0)) == ALL
    with pytest.raises(UserError, match="only 0 of 20 sequences"):
        build(tmp_path, fasta(GISAID), metadata, id_match="literal")


ODD = ["01", "1", "NA", "None", "nan", "a,b", "it's", 'quo"te', "Zürich/1", "x y", "x|y", "é", "ß", "-", "#1"]


def test_odd_ids_and_labels_are_text(tmp_path: Path) -> None:
    labels = ["01", "1", "NA"]
    rows = "".join(f"{name}\t{labels[i % 3]}\n" for i, name in enumerate(ODD))
    task = build(tmp_path, fasta(ODD), f"strain\tlineage\n{rows}".encode(), test_fraction=0.3)
    assert joined(task) == (15, 15, 15) and list(task.labels) == ["01", "1", "NA"]


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b"\r"),
        lambda text: text.decode().encode("latin-1"),
    ],
    ids=["BOM", "CRLF", "CR", "Latin-1"],
)  # fmt: skip
def test_both_files_as_other_programs_write_them(tmp_path: Path, encode: object) -> None:
    ids = [*IDS[:-1], "Zürich"]
    assert callable(encode)
    assert joined(build(tmp_path, encode(fasta(ids)), encode(table(ids, by=",")))) == ALL


def test_standard_input_is_read_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(PACKERS["gz"](fasta(GISAID))))
    monkeypatch.setattr(sys, "stdin", stdin)
    task = build(tmp_path, "-", table(IDS), cache_dir=str(tmp_path / "cache"))
    assert joined(task) == ALL and "-" in task.sha256
    assert {path.name for path in (tmp_path / "cache").iterdir()} <= {"encoded", "checksums.json"}


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[fasta(GISAID)])
    writer.start()
    assert joined(build(tmp_path, str(tmp_path / "pipe"), table(IDS))) == ALL
    writer.join()


TORN: Mapping[str, tuple[bytes, dict[str, int]]] = {
    "ragged rows": (table(IDS[:18]) + b"short\nlong\ta\tb\n", {"row with 1 cells where the header has 2": 1,
                                                              "row with 3 cells where the header has 2": 1}),
    "no label": (table(IDS[:19]) + f"{IDS[19]}\t \n".encode(), {"no label": 1}),
    "two labels": (table(IDS) + f"{IDS[19]}\tother\n".encode(), {"id has conflicting labels": 2}),
    "twice": (table(IDS) + f"{IDS[18]}\tB.1.0\n".encode(), {"id repeated with the same label": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", TORN)
def test_every_unusable_row_has_its_reason_and_both_sides_balance(tmp_path: Path, name: str) -> None:
    metadata, reasons = TORN[name]
    stages = build(tmp_path, fasta(GISAID), metadata).summary["records"]["stages"]
    assert {reason: entry["count"] for reason, entry in stages["metadata"]["dropped"].items()} == reasons
    for ledger in stages.values():
        assert ledger["read"] == ledger["kept"] + sum(e["count"] for e in ledger["dropped"].values())
