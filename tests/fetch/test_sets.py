"""Data sets by name: what is asked of whom, and what comes to lie where."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from incrt_cli.errors import UserError
from incrt_cli.fetch import catalogue
from incrt_cli.fetch.catalogue import Bases, find_set, remote_of
from incrt_cli.fetch.problems import NotThereError
from incrt_cli.fetch.sets import fetch_set
from tests.fetch.conftest import Bench
from tests.fetch.server import Site, status, whole

ZST, XZ = b"\x28\xb5\x2f\xfd....", b"\xfd7zXZ\x00...."
Rows = list[dict[str, Any]]
PARTS: dict[str, Rows] = {
    "train": [
        {"sentence": 'it \'s "fun" ', "label": 1, "idx": 0},
        {"sentence": "é dull ", "label": 0, "idx": 1},
    ],
    "validation": [{"sentence": " fine .", "label": 1, "idx": 0}],
    "test": [{"sentence": "hidden", "label": -1, "idx": 0}],
}


def bases(site: Site) -> Bases:
    return Bases(site.url("/files"), site.url("/efetch"), site.url("/viewer"))


@pytest.mark.parametrize(
    "name, urls",
    [
        (
            "sars-cov-2-reference",
            [
                "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/efetch.fcgi"
                "?db=nuccore&id=MN908947.3&rettype=fasta",
                "https://www.ncbi.nlm.nih.gov/sviewer/viewer.cgi?db=nuccore&report=gff3&id=MN908947.3",
            ],
        ),
        (
            "nextstrain-sars-cov-2-100k",
            [
                "https://data.nextstrain.org/files/ncov/open/100k/sequences.fasta.xz",
                "https://data.nextstrain.org/files/ncov/open/100k/metadata.tsv.xz",
            ],
        ),
        (
            "nextstrain-sars-cov-2",
            [
                "https://data.nextstrain.org/files/ncov/open/sequences.fasta.zst",
                "https://data.nextstrain.org/files/ncov/open/metadata.tsv.zst",
            ],
        ),
        (
            "nextstrain:mpox",
            [
                "https://data.nextstrain.org/files/workflows/mpox/sequences.fasta.zst",
                "https://data.nextstrain.org/files/workflows/mpox/metadata.tsv.zst",
            ],
        ),
    ],
)
def test_a_name_stands_for_published_addresses(name: str, urls: list[str]) -> None:
    assert [file.choices[0].url for file in find_set(name, Bases()).files] == urls


def test_the_reference_is_fetched_with_pauses_and_verified(
    site: Site, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "REFERENCE_MD5", hashlib.md5(b"ACGT").hexdigest())
    site.answers["/efetch?db=nuccore&id=MN908947.3&rettype=fasta"] = [status(200, b">MN908947.3 x\nac\ngt\n")]
    site.answers["/viewer?db=nuccore&report=gff3&id=MN908947.3"] = [status(200, b"##gff-version 3\n")]
    dataset = find_set("sars-cov-2-reference", bases(site))
    settings = fetch_set(dataset, tmp_path, bench.downloader(pauses={"127.0.0.1": 0.34}), bench.said.append)
    home = tmp_path / "sars-cov-2-reference"
    assert [(setting.key, setting.path) for setting in settings] == [
        ("data.reference", home / "MN908947.3.fasta"),
        ("data.genes", home / "MN908947.3.gff3"),
    ]
    assert bench.slept == [0.34]


def test_another_sequence_than_the_reference_is_refused(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers["/efetch?db=nuccore&id=MN908947.3&rettype=fasta"] = [status(200, b">MN908947.3\nACGT\n")]
    with pytest.raises(UserError, match=catalogue.REFERENCE_MD5):
        fetch_set(find_set("sars-cov-2-reference", bases(site)), tmp_path, bench.downloader(), print)
    assert list((tmp_path / "sars-cov-2-reference").iterdir()) == []


@pytest.mark.parametrize(
    "pathogen, there",
    [
        ("zika", {"zika/sequences.fasta.zst": ZST, "zika/metadata.tsv.zst": ZST}),
        ("rsv/a", {"rsv/a/sequences.fasta.xz": XZ, "rsv/a/metadata.tsv.gz": b"\x1f\x8b..."}),
        ("dengue/all", {"dengue/sequences_all.fasta.zst": ZST, "dengue/metadata_all.tsv.zst": ZST}),
        ("flu/h5n1/ha", {"flu/h5n1/ha/sequences.fasta.zst": ZST, "flu/h5n1/metadata.tsv.zst": ZST}),
    ],
)
def test_a_pathogen_is_found_in_whatever_packing_it_is_published(
    site: Site, bench: Bench, tmp_path: Path, pathogen: str, there: dict[str, bytes]
) -> None:
    site.answers = {f"/files/workflows/{path}": [whole(body)] for path, body in there.items()}
    dataset = find_set(f"nextstrain:{pathogen}", bases(site))
    settings = fetch_set(dataset, tmp_path, bench.downloader(), bench.said.append)
    home = tmp_path / f"nextstrain-{pathogen.replace('/', '-')}"
    assert [(setting.key, setting.path) for setting in settings] == [
        (key, home / Path(path).name)
        for key, path in zip(("data.sequences", "data.metadata"), there, strict=True)
    ]


def test_a_pathogen_that_is_not_published_is_refused_with_every_address_asked(
    site: Site, bench: Bench, tmp_path: Path
) -> None:
    with pytest.raises(NotThereError, match=r"cold/sequences.fasta.zst: .*404.*\n.*cold/sequences.fasta.xz"):
        fetch_set(find_set("nextstrain:cold", bases(site)), tmp_path, bench.downloader(), print)


@pytest.mark.parametrize(
    "name, advice",
    [
        ("sars-cov2-reference", "did you mean sars-cov-2-reference"),
        ("nextstrain:", "nextstrain:PATHOGEN"),
        ("nextstrain:../x", "no data set is named"),
        ("nothing", "--list"),
    ],
)
def test_an_unknown_name_is_answered_with_known_ones(name: str, advice: str) -> None:
    with pytest.raises(UserError, match=advice):
        find_set(name, Bases())


@pytest.mark.parametrize(
    "url, name",
    [
        ("https://host/a/b%20c.fasta?x=/y", "b c.fasta"),
        ("https://host/a/", None),
        ("https://host/..%2f..", None),
        ("https://host/a%2Fb", None),
        ("https://host/a%0Ab", None),
    ],
)
def test_a_file_is_named_as_the_end_of_its_address(url: str, name: str | None) -> None:
    if name is not None:
        assert remote_of(url, None).name == name
        return
    with pytest.raises(UserError, match="does not end in a file name"):
        remote_of(url, None)


def hub(parts: dict[str, Any]) -> Callable[..., Any]:
    def load_dataset(repository: str, config: str) -> dict[str, Any]:
        assert (repository, config) == ("nyu-mll/glue", "sst2")
        return parts

    return load_dataset


def test_sst2_is_written_as_glue_has_it_word_for_word(bench: Bench, tmp_path: Path) -> None:
    sst2 = find_set("sst2", Bases())
    [setting] = fetch_set(sst2, tmp_path, bench.downloader(), bench.said.append, hub(PARTS))
    assert (setting.key, setting.path) == ("data.path", tmp_path / "sst2")
    expected = {
        "train.tsv": 'sentence\tlabel\nit \'s "fun" \t1\né dull \t0\n'.encode(),
        "dev.tsv": b"sentence\tlabel\n fine .\t1\n",
    }
    assert {name: (setting.path / name).read_bytes() for name in expected} == expected
    sums = {
        f"{name}.sha256": f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in expected.items()
    }
    assert {name: (setting.path / name).read_text() for name in sums} == sums
    assert len(list(setting.path.iterdir())) == 4
    assert bench.said[-2:] == ["train.tsv: 2 sentences", "dev.tsv: 1 sentences"]


def test_sst2_is_not_fetched_twice_nor_over_something_else(bench: Bench, tmp_path: Path) -> None:
    def again(load_dataset: Callable[..., Any]) -> None:
        fetch_set(find_set("sst2", Bases()), tmp_path, bench.downloader(), bench.said.append, load_dataset)

    again(hub(PARTS))
    again(hub({}))  # would have no train split
    assert "not fetched again" in bench.said[-1]
    (tmp_path / "sst2" / "dev.tsv").write_text("mine")
    with pytest.raises(UserError, match=r"dev.tsv is there already"):
        again(hub(PARTS))


@pytest.mark.parametrize(
    "parts, message",
    [
        ({"train": []}, "has no validation split"),
        ({**PARTS, "train": [{"sentence": "a\tb", "label": 1}]}, r"\(train\): row 0 holds a tab"),
        ({**PARTS, "validation": [{"text": "a"}]}, r"\(validation\): row 0 is no sentence"),
        ({**PARTS, "train": itertools.repeat({"sentence": "a", "label": None}, 1)}, "row 0 is no sentence"),
    ],
)
def test_rows_that_glue_cannot_hold_leave_no_file_of_theirs(
    bench: Bench, tmp_path: Path, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        fetch_set(find_set("sst2", Bases()), tmp_path, bench.downloader(), print, hub(parts))
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left <= {"train.tsv", "train.tsv.sha256"}  # of rows that were good


def test_a_hub_out_of_reach_is_one_message(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_dataset(*names: str) -> None:
        raise ConnectionError("Couldn't reach 'nyu-mll/glue' on the Hub\nand more")

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    with pytest.raises(UserError, match=r"cannot load nyu-mll/glue:sst2 .*on the Hub\nCheck .*data.path"):
        fetch_set(find_set("sst2", Bases()), tmp_path, bench.downloader(), print)
