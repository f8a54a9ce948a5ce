"""The account of what a run was made with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import torch

import incrt_cli
from incrt_cli.rundir import environment
from incrt_cli.rundir.environment import describe_environment
from incrt_cli.rundir.plain import to_json

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]


def git(folder: Path, *arguments: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = [*GIT, "-C", str(folder), *arguments]
    return subprocess.run(command, env=clean, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A git checkout with one commit that holds a package."""
    package = tmp_path / "checkout" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    git(package.parent, "init", "--quiet")
    git(package.parent, "add", ".")
    git(package.parent, "commit", "--quiet", "--message", "first")
    return package


def test_versions_machine_and_arguments_are_named(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["incrt", "train", "my config.yaml", "seed=3"])
    found = describe_environment("cpu", 2, 3, {"genomes.fasta": "ab12"})
    assert found["incrt"] == incrt_cli.__version__
    assert found["libraries"]["torch"] == torch.__version__
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["command"] == "incrt train 'my config.yaml' seed=3"
    assert (found["device"], found["threads"], found["seed"]) == ("cpu", 2, 3)
    assert found["data_sha256"] == {"genomes.fasta": "ab12"}
    assert datetime.fromisoformat(found["started_at"]).utcoffset() == timedelta(0)
    assert found["platform"] and found["cpu"]
    assert json.loads(to_json(found)) == found


def test_a_clean_checkout_gives_its_commit(checkout):
    assert environment._git_state(checkout) == {"commit": git(checkout, "rev-parse", "HEAD"), "dirty": False}


@pytest.mark.parametrize("name", ["__init__.py", "new_module.py"])
def test_a_changed_or_added_source_file_makes_it_dirty(checkout, name):
    (checkout / name).write_text("changed = True\n")
    state = environment._git_state(checkout)
    assert state is not None and state["dirty"] is True


def test_files_beside_the_package_do_not_make_it_dirty(checkout):
    (checkout.parent / "notes.txt").write_text("mine")
    state = environment._git_state(checkout)
    assert state is not None and state["dirty"] is False


def test_a_package_installed_inside_another_checkout_has_no_commit(checkout):
    installed = checkout.parent / ".venv" / "incrt_cli"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert environment._git_state(installed) is None


def test_outside_a_checkout_and_without_git_nothing_fails(tmp_path, checkout, monkeypatch):
    assert environment._git_state(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment._git_state(checkout) is None


def test_a_git_that_hangs_is_given_up(checkout, monkeypatch):
    def hang(*_, **options):
        raise subprocess.TimeoutExpired("git", options["timeout"])

    monkeypatch.setattr(subprocess, "run", hang)
    assert environment._git_state(checkout) is None


def test_the_variables_of_a_git_hook_do_not_mislead(checkout, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(checkout / "elsewhere"))
    state = environment._git_state(checkout)
    assert state is not None and len(state["commit"]) == 40
