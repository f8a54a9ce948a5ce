"""Checksums are of the bytes as they are now, whatever the memo says."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.files import checksums
from incrt_cli.files.checksums import file_sha256

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
FORGED = "0" * 64  # only the memo can answer it
MANY = """
import sys
from pathlib import Path
from incrt_cli.files import checksums
checksums._SETTLED_NS = -(1 << 62)
for path in sorted(Path(sys.argv[1]).glob(sys.argv[2])):
    checksums.file_sha256(path, Path(sys.argv[1]) / "cache")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    return path


@pytest.fixture
def memo(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The memo after `path` was hashed, with a forged answer in it, an hour later."""
    now = time.time_ns() + 3600 * 10**9
    monkeypatch.setattr(checksums.time, "time_ns", lambda: now)
    assert file_sha256(path, tmp_path / "cache") == ABC
    (memo,) = (tmp_path / "cache").iterdir()
    content = json.loads(memo.read_text())
    content[str(path)][0] = FORGED
    memo.write_text(json.dumps(content))
    return memo


def test_hashes_are_of_the_bytes_and_of_regular_files_only(path: Path, tmp_path: Path) -> None:
    assert file_sha256(path) == ABC
    with pytest.raises(UserError, match=f"{tmp_path} is not a regular file"):
        file_sha256(tmp_path)
    with pytest.raises(UserError, match=f"cannot open {tmp_path / 'absent'}: No such file"):
        file_sha256(tmp_path / "absent")


def test_a_file_that_is_as_it_was_is_not_read_again(path: Path, memo: Path) -> None:
    assert file_sha256(path, memo.parent) == FORGED
    assert file_sha256(path) == ABC


def rewrite(path: Path) -> None:
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # until the file system's clock has moved on
        path.write_bytes(b"abd")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    path.with_suffix(".new").write_bytes(b"abd")
    os.replace(path.with_suffix(".new"), path)


@pytest.mark.parametrize("change", [rewrite, replace, lambda path: path.write_bytes(b"abcd")])
def test_a_changed_file_is_read_again(path: Path, memo: Path, change: Callable[[Path], None]) -> None:
    change(path)
    assert file_sha256(path, memo.parent) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_written_just_now_is_not_remembered(path: Path, tmp_path: Path) -> None:
    file_sha256(path, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"f": 1}', b'{"f": null}'])
def test_a_damaged_memo_is_done_without(path: Path, memo: Path, content: bytes) -> None:
    memo.write_bytes(content.replace(b'"f"', json.dumps(str(path)).encode()))
    assert file_sha256(path, memo.parent) == ABC
    assert json.loads(memo.read_text())[str(path)][0] == ABC


def test_a_folder_that_cannot_be_written_is_done_without(
    path: Path, memo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"x")
    before = memo.read_bytes()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(checksums.tempfile, "mkstemp", refuse)
    assert file_sha256(path, memo.parent) == hashlib.sha256(b"x").hexdigest()
    assert file_sha256(path, path / "no-folder") == hashlib.sha256(b"x").hexdigest()
    assert memo.read_bytes() == before


def test_two_processes_at_once_lose_no_note(tmp_path: Path) -> None:
    for name in (f"{letter}{number}" for letter in "ab" for number in range(100)):
        (tmp_path / name).write_text(name)
    arguments = [[sys.executable, "-c", MANY, str(tmp_path), f"{letter}*"] for letter in "ab"]
    processes = [subprocess.Popen(command) for command in arguments]
    assert [process.wait() for process in processes] == [0, 0]
    (memo,) = (tmp_path / "cache").iterdir()
    entries = json.loads(memo.read_text())
    assert len(entries) == 200
    for name, (digest, *_) in entries.items():
        assert digest == hashlib.sha256(Path(name).read_bytes()).hexdigest()


def test_the_memo_does_not_grow_for_ever(path: Path, memo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "_REMEMBERED", 2)
    for name in "ghi":
        file_sha256(path.rename(path.with_name(name)), memo.parent)
        path = path.with_name(name)
    assert [Path(name).name for name in json.loads(memo.read_text())] == ["h", "i"]
