"""The cache: made once, whole or not at all, and never trusted when damaged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from incrt_cli.data.cache import cache_folder, get_or_make
from incrt_cli.data.rows import RowWriter, digest
from incrt_cli.errors import UserError

REPOSITORY = Path(__file__).resolve().parents[2]
SETTINGS = {"k": 3}
TWO_AT_ONCE = """
import sys, time
from pathlib import Path
import numpy as np
from incrt_cli.data.cache import get_or_make

def make(writer):
    writer.add(np.arange(2, 9), 0, 0, 1)
    Path(sys.argv[1], sys.argv[2]).touch()
    while len(list(Path(sys.argv[1]).glob("made-*"))) < 2:  # neither is done before both have written
        time.sleep(0.01)
    return {"by": sys.argv[2]}

entry = get_or_make(Path(sys.argv[1], "cache"), {"k": 3}, 66, make)
print(entry.rows["tokens"][0].as_py(), entry.account["by"])
"""


def made(writer: RowWriter) -> dict[str, Any]:
    writer.add(np.array([2, 3, 1]), 4, 0, digest(b"ACG"), 2)
    writer.add(np.array([5]), 5, 1, digest(b"T"))
    return {"labels": ["a"]}


def never(writer: RowWriter) -> dict[str, Any]:
    raise AssertionError("the entry was there already")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_what_is_written_is_read_back_and_then_reused(tmp_path: Path) -> None:
    first = get_or_make(tmp_path, SETTINGS, 66, made)
    again = get_or_make(tmp_path, SETTINGS, 66, never)
    assert (first.reused, again.reused) == (False, True)
    assert first.account == again.account == {"labels": ["a"]}
    assert again.rows.to_pylist()[0] == {
        "tokens": [2, 3, 1], "label": 4, "record": 0, "digest": digest(b"ACG"),
        "key": digest(np.array([2, 3, 1], np.uint16).tobytes()), "unknown": 1, "split": 2, "length": 3,
    }  # fmt: skip
    assert again.rows["split"].to_pylist() == [2, -1]
    assert files(tmp_path) == ["account.json", "rows.arrow"]


def test_other_settings_make_another_entry(tmp_path: Path) -> None:
    get_or_make(tmp_path, SETTINGS, 66, made)
    assert not get_or_make(tmp_path, {"k": 4}, 66, made).reused


def test_many_rows_and_large_token_ids_survive(tmp_path: Path) -> None:
    def many(writer: RowWriter) -> dict[str, Any]:
        for number in range(10_000):
            writer.add(np.array([number, 70_000]), 0, number, number)
        return {}

    rows = get_or_make(tmp_path, SETTINGS, 70_001, many).rows
    assert rows.num_rows == 10_000
    assert rows["tokens"][9_999].as_py() == [9_999, 70_000]


@pytest.mark.parametrize("error", [UserError("bad input"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing_behind(tmp_path: Path, error: BaseException) -> None:
    def fails(writer: RowWriter) -> dict[str, Any]:
        writer.add(np.array([2]), 0, 0, 0)
        raise error

    with pytest.raises(type(error)):
        get_or_make(tmp_path, SETTINGS, 66, fails)
    assert list((tmp_path / "encoded").iterdir()) == []


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda home: flip(home / "rows.arrow"),
        lambda home: (home / "rows.arrow").write_bytes(b""),
        lambda home: (home / "rows.arrow").unlink(),
        lambda home: (home / "account.json").write_text("{"),
        lambda home: (home / "account.json").write_text("[]"),
    ],
)
def test_a_damaged_entry_is_made_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    get_or_make(tmp_path, SETTINGS, 66, made)
    damage(next((tmp_path / "encoded").iterdir()))
    entry = get_or_make(tmp_path, SETTINGS, 66, made)
    assert not entry.reused
    assert entry.rows["label"].to_pylist() == [4, 5]
    assert get_or_make(tmp_path, SETTINGS, 66, never).reused
    assert files(tmp_path) == ["account.json", "rows.arrow"]


def test_an_entry_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    def overtaken(writer: RowWriter) -> dict[str, Any]:
        get_or_make(tmp_path, SETTINGS, 66, made)
        writer.add(np.array([9]), 0, 0, 0)
        return {"labels": ["late"]}

    assert get_or_make(tmp_path, SETTINGS, 66, overtaken).account == {"labels": ["a"]}
    assert files(tmp_path) == ["account.json", "rows.arrow"]


def test_two_processes_at_once_both_get_a_whole_entry(tmp_path: Path) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_AT_ONCE, str(tmp_path), name],
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )
        for name in ("made-1", "made-2")
    ]
    outputs = [run.communicate(timeout=300)[0].rsplit(maxsplit=1) for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert [tokens for tokens, _ in outputs] == ["[2, 3, 4, 5, 6, 7, 8]"] * 2
    assert outputs[0][1] == outputs[1][1], "one of the two entries was kept, and both used it"
    assert files(tmp_path / "cache") == ["account.json", "rows.arrow"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"{tmp_path / 'file'}.*data.cache_dir"):
        get_or_make(tmp_path / "file", SETTINGS, 66, made)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert cache_folder("here") == tmp_path / "here"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder(None) == Path("/x/incrt")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert cache_folder(None) == Path("/h/.cache/incrt")
