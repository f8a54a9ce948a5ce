"""Every run gets a folder of its own, and never one that is in use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.rundir import RunWriter

PROCESSES = 8
CREATE_TOGETHER = """
import pathlib, sys, time
from incrt_cli.errors import UserError
from incrt_cli.rundir import RunWriter
root, run_dir, number = sys.argv[1:]
(pathlib.Path(root) / f"ready-{number}").touch()
while not (pathlib.Path(root) / "go").exists():
    time.sleep(0.001)
try:
    print(RunWriter.create(pathlib.Path(run_dir) if run_dir else None, "demo", pathlib.Path(root)).path)
except UserError as error:
    print("refused:", error)
"""


def _race(root: Path, run_dir: str) -> list[str]:
    """What each of the processes, all let go at the same moment, got."""
    command = [sys.executable, "-c", CREATE_TOGETHER, str(root), run_dir]
    started = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(PROCESSES)
    ]
    limit = time.monotonic() + 180
    while len(list(root.glob("ready-*"))) < PROCESSES and time.monotonic() < limit:
        time.sleep(0.01)
    (root / "go").touch()
    return [process.communicate(timeout=180)[0].strip() for process in started]


def test_names_are_numbered_from_the_second_on(tmp_path):
    names = [RunWriter.create(None, "demo", tmp_path / "runs").name for _ in range(3)]
    assert names == ["demo", "demo-2", "demo-3"]


def test_eight_processes_at_once_get_eight_folders(tmp_path):
    found = _race(tmp_path, "")
    expected = ["demo"] + [f"demo-{i}" for i in range(2, PROCESSES + 1)]
    assert sorted(found) == sorted(str(tmp_path / name) for name in expected)


def test_of_eight_processes_given_one_folder_only_one_gets_it(tmp_path):
    found = _race(tmp_path, str(tmp_path / "mine"))
    assert found.count(str(tmp_path / "mine")) == 1
    assert sum(answer.startswith("refused: ") for answer in found) == PROCESSES - 1


def test_a_given_folder_is_made_with_its_parents_or_used_when_empty(tmp_path):
    (tmp_path / "empty").mkdir()
    assert RunWriter.create(tmp_path / "a" / "b", "demo").path == tmp_path / "a" / "b"
    assert RunWriter.create(tmp_path / "empty", "demo").path == tmp_path / "empty"


def test_a_given_folder_that_holds_anything_is_refused_and_left_alone(tmp_path):
    for name in "abcd":
        (tmp_path / name).write_text(name)
    with pytest.raises(UserError, match=r"is not empty \(4 entries: a, b, c, …\)") as caught:
        RunWriter.create(tmp_path, "demo")
    assert str(tmp_path) in str(caught.value)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("below", ["file", "file/below"])
def test_a_file_in_the_way_is_named(tmp_path, below):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(UserError, match="file; give another folder") as caught:
        RunWriter.create(tmp_path / below, "demo")
    assert str(tmp_path / below) in str(caught.value)
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("run_dir", ["locked", "locked/new"])
def test_a_folder_without_write_permission_is_refused(tmp_path, run_dir):
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(UserError, match="Permission denied"):
        RunWriter.create(tmp_path / run_dir, "demo")


def test_a_system_that_refuses_the_folder_is_quoted_with_the_absolute_path(tmp_path, monkeypatch):
    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(UserError, match="cannot make the folder .*Permission denied.*--run-dir") as caught:
        RunWriter.create(tmp_path / "new", "demo")
    assert str(tmp_path / "new") in str(caught.value)
