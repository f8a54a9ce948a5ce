"""Folders that appear whole, and what a killed process leaves behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.files.folders import atomic_folder

WRITER = """
import sys, time
from pathlib import Path
from incrt_cli.files.folders import atomic_folder
with atomic_folder(Path(sys.argv[1]), lambda: False) as folder:
    (folder / "half").touch()
    print("writing", flush=True)
    time.sleep(60)
"""


@contextmanager
def writer(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process in the middle of writing `home`."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(home)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"writing\n"
        try:
            yield process
        finally:
            process.kill()


def write(home: Path, content: str = "whole", is_good: bool = False) -> None:
    with atomic_folder(home, lambda: is_good) as folder:
        (folder / "file").write_text(content)


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    home = tmp_path / "parent" / "home"
    with pytest.raises(RuntimeError):
        with atomic_folder(home, lambda: False) as folder:
            (folder / "half").touch()
            raise RuntimeError
    assert list(home.parent.iterdir()) == []
    write(home)
    assert [path.name for path in home.parent.rglob("*")] == ["home", "file"]


@pytest.mark.parametrize("is_good, content", [(True, "first"), (False, "second")])
def test_what_another_process_made_meanwhile_is_kept_when_it_is_good(
    tmp_path: Path, is_good: bool, content: str
) -> None:
    write(tmp_path / "home", "first")
    write(tmp_path / "home", "second", is_good)
    assert (tmp_path / "home" / "file").read_text() == content
    assert len(list(tmp_path.iterdir())) == 1


def test_a_dead_process_leaves_nothing_for_ever_and_a_live_one_is_left_alone(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "home-2"
    with writer(home) as process, writer(other):
        write(home)
        assert len(list(tmp_path.glob(".home-*/half"))) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
        write(home)
        assert [path.name.startswith(".home-2-") for path in tmp_path.glob(".*")] == [True]


def test_what_a_process_of_another_host_left_is_not_ours_to_judge(tmp_path: Path) -> None:
    foreign = tmp_path / ".home-elsewhere-4026531836-99999999-abc"
    foreign.mkdir()
    write(tmp_path / "home")
    assert foreign.is_dir()


def test_a_parent_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"cannot write to {tmp_path / 'file'}.*Set data.cache_dir"):
        write(tmp_path / "file" / "home")
