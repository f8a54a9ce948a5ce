"""`incrt data fetch` from the command line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from incrt_cli.cli.data_fetch import fetch
from incrt_cli.errors import UserError
from tests.fetch.conftest import Bench
from tests.fetch.server import Site, whole

BODY = b">a\nACGT\n"


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(fetch)
    return CliRunner().invoke(app, list(arguments))


def complaint(*arguments: str) -> str:
    error = run(*arguments).exception
    assert isinstance(error, UserError)
    return str(error)


def test_stdout_is_what_a_config_needs_and_nothing_else(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers = {"/a.fasta": [whole(BODY)], "/m.tsv": [whole(b"strain\tlineage\n")]}
    result = run(site.url("/a.fasta"), site.url("/m.tsv"), "--to", str(tmp_path))
    assert result.exit_code == 0
    assert result.stdout == f"data.sequences={tmp_path}/a.fasta\ndata.metadata={tmp_path}/m.tsv\n"
    assert "a.fasta: 8 bytes, complete" in result.stderr


def test_json_tells_where_each_file_came_from(site: Site, bench: Bench, tmp_path: Path) -> None:
    site.answers = {"/a.fasta": [whole(BODY)]}
    digest = hashlib.sha256(BODY).hexdigest()
    result = run(site.url("/a.fasta"), "--to", str(tmp_path), "--sha256", digest, "--json")
    assert json.loads(result.stdout) == [
        {
            "key": "data.sequences",
            "path": str(tmp_path / "a.fasta"),
            "url": site.url("/a.fasta"),
            "sha256": digest,
            "size": len(BODY),
            "fresh": True,
        }
    ]


def test_the_list_names_every_set_with_its_terms() -> None:
    text = run("--list").stdout
    rows = json.loads(run("--list", "--json").stdout)
    assert [row["name"] for row in rows] == [
        "sars-cov-2-reference",
        "nextstrain-sars-cov-2-100k",
        "nextstrain-sars-cov-2",
        "sst2",
        "nextstrain:PATHOGEN[/SUB]",
    ]
    for row in rows:
        assert all(
            part in text for part in (row["name"], row["what"], row["size"], row["terms"], *row["files"])
        )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "nothing to fetch"),
        (["sst2", "--sha256", "0" * 64], "--sha256 goes with one address"),
        (["http://h/a", "http://h/b", "--sha256", "0" * 64], "--sha256 goes with one address"),
        (["http://127.0.0.1:9/a.fasta", "--sha256", "12"], "64 hexadecimal digits"),
        (["file:///etc/passwd"], "cannot be fetched"),
        (["http://127.0.0.1:9/a.fasta", "sst3"], "did you mean sst2"),
    ],
)
def test_a_slip_is_told_before_anything_is_fetched(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    assert message in complaint(*arguments, "--to", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
