"""Standard input and pipes become files for as long as they are needed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from incrt_cli.errors import UserError
from incrt_cli.files.inputs import regular_files

GIVEN = b"\x1f\x8b any bytes \xff\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(GIVEN)))


@contextmanager
def pipe(content: bytes) -> Iterator[str]:
    """What a shell's <(…) gives: a name under /dev/fd."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


@pytest.mark.usefixtures("stdin")
def test_standard_input_and_pipes_are_files_until_the_end(folder: Path, tmp_path: Path) -> None:
    with pipe(b"piped") as name:
        given = {"data.sequences": "-", "data.metadata": name, "data.genes": str(tmp_path / "genes.gff3")}
        with regular_files(given, folder) as paths:
            assert [paths[key].read_bytes() for key in ("data.sequences", "data.metadata")] == [
                GIVEN,
                b"piped",
            ]
            assert paths["data.sequences"].is_file() and paths["data.metadata"].is_file()
            assert paths["data.genes"] == tmp_path / "genes.gff3"
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("stdin")
def test_an_error_leaves_nothing_behind(folder: Path) -> None:
    with pytest.raises(RuntimeError):
        with regular_files({"data.path": "-"}, folder):
            raise RuntimeError
    assert list(folder.iterdir()) == []


def test_where_nothing_passes_by_nothing_is_written(folder: Path) -> None:
    with regular_files({"data.path": "absent.tsv"}, folder) as paths:
        assert paths == {"data.path": Path("absent.tsv")}
    assert not folder.exists()


@pytest.mark.usefixtures("stdin")
def test_what_can_be_read_once_is_given_once(folder: Path) -> None:
    with pipe(b"") as name:
        for twice in ("-", name):
            message = f"data.sequences and data.metadata are both '{twice}', which can be read only once"
            with pytest.raises(UserError, match=message):
                with regular_files({"data.sequences": twice, "data.metadata": twice}, folder):
                    pass


@pytest.mark.parametrize("source", [SimpleNamespace(buffer=io.BytesIO()), None])
def test_empty_input_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, source: object) -> None:
    monkeypatch.setattr(sys, "stdin", source)
    with pipe(b"") as name:
        for empty, what in (("-", "standard input"), (name, "the pipe")):
            with pytest.raises(UserError, match=f"data.path is '{empty}', and {what} is empty"):
                with regular_files({"data.path": empty}, folder):
                    pass
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("stdin")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"cannot write to {tmp_path / 'file'}"):
        with regular_files({"data.path": "-"}, tmp_path / "file"):
            pass
