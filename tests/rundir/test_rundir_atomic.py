"""A crash, a kill or a full disk never leaves half a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from incrt_cli.errors import UserError
from incrt_cli.rundir import read_run
from incrt_cli.rundir.atomic import write_atomic

KILLED_BEFORE_RENAME = """
import os, pathlib, signal, sys
from incrt_cli.rundir.atomic import write_atomic
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_atomic(pathlib.Path(sys.argv[1]), "new")
"""


def test_the_content_is_replaced_and_nothing_else_is_left(tmp_path):
    target = tmp_path / "data.json"
    write_atomic(target, "old")
    write_atomic(target, b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_kill_between_writing_and_renaming_leaves_the_old_file(tmp_path):
    target = tmp_path / "result.json"
    write_atomic(target, "old")
    killed = subprocess.run([sys.executable, "-c", KILLED_BEFORE_RENAME, str(target)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert target.read_text() == "old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_after_a_failure_the_old_file_stays_and_the_temporary_one_goes(tmp_path, monkeypatch, step):
    target = tmp_path / "result.json"
    write_atomic(target, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(UserError, match="No space left on device") as caught:
        write_atomic(target, "new")
    assert str(target) in str(caught.value)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interruption_also_removes_the_temporary_file(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "result.json", "new")
    assert list(tmp_path.iterdir()) == []


def test_files_are_as_readable_to_others_as_the_user_set(tmp_path):
    before = os.umask(0o022)
    try:
        write_atomic(tmp_path / "report.md", "shared")
    finally:
        os.umask(before)
    assert (tmp_path / "report.md").stat().st_mode & 0o777 == 0o644


def test_appended_rows_are_in_the_file_at_once_and_survive_a_kill(tmp_path):
    program = (
        "import os, pathlib, signal, sys\n"
        "from incrt_cli.rundir import RunWriter\n"
        "run = RunWriter(pathlib.Path(sys.argv[1]))\n"
        "run.write_environment({'incrt': '0'})\n"
        "for step in range(100): run.append_metrics({'step': step})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    metrics = read_run(tmp_path).metrics
    assert metrics is not None and [row["step"] for row in metrics] == list(range(100))
