"""Every shipped config trains, and every command of the README does what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from incrt_cli.cli.main import run
from incrt_cli.rundir import read_run
from tests.shipped import make_data, shrink

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = sorted(path.name for path in (ROOT / "configs").glob("*.yaml"))
README = (ROOT / "README.md").read_text()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the configs and small data, as after following the README."""
    make_data(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _commands() -> list[list[str]]:
    """The `incrt` lines of the README's shell blocks, in order, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("incrt ")]


def test_the_smoke_run_of_the_makefile_works(elsewhere: Path) -> None:
    recipe = (ROOT / "Makefile").read_text().split("\nsmoke:")[1].split("\n\n")[0].replace("\\\n", " ")
    commands = [
        line.split("$(BIN)/incrt ")[1].rstrip("; ") for line in recipe.split(";") if "$(BIN)/incrt " in line
    ]
    assert [command.split()[0] for command in commands] == ["train", "report", "predict-heads"]
    for command in commands:
        assert run([argument.replace("$$folder", ".") for argument in shlex.split(command)]) == 0


@pytest.mark.parametrize("name", CONFIGS)
def test_a_shipped_config_trains(elsewhere: Path, name: str) -> None:
    assert run(shrink(["train", f"configs/{name}", "--run-dir", "run"])) == 0
    finished = read_run(elsewhere / "run")
    assert finished.status == "complete" and finished.problems == ()


def test_the_readmes_commands_work_in_order(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = _commands()
    assert {command[0] for command in commands} == {
        "train",
        "sweep",
        "predict-heads",
        "report",
        "bound",
        "diagnose",
        "bench",
        "data",
    }
    for command in commands:
        assert run(shrink(command)) == 0, (command, capsys.readouterr().err)


def test_the_readme_names_every_shipped_config_and_both_commands() -> None:
    assert all(f"configs/{name}" in README for name in CONFIGS)
    assert "make demo" in README and "make test" in README


def test_the_readmes_config_is_a_valid_one(elsewhere: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    (elsewhere / "mine.yaml").write_text(block)
    assert run(shrink(["train", "mine.yaml", "--dry-run"])) == 0
