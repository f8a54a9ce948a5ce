"""Checkpoints: what is saved comes back bit for bit, and nothing but what was saved is ever loaded."""

from __future__ import annotations

import errno
import hashlib
import math
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from incrt_cli.errors import UserError
from incrt_cli.rundir import RunWriter, alone_in, find_checkpoint, go_back
from incrt_cli.rundir.trees import join_tree, split_tree

PLACES = 200


def _state(step: int) -> dict[str, Any]:
    return {
        "model": {"weights": torch.full((3, 4), float(step))},
        "step": step,
        "losses": [torch.tensor(0.5)],
    }


@pytest.fixture
def run(tmp_path: Path) -> RunWriter:
    """A run with checkpoints of steps 10 and 20, and rows written after either."""
    writer = RunWriter.create(tmp_path / "run", "small")
    for step in (10, 20):
        writer.append_metrics({"step": step})
        writer.save_checkpoint(step, _state(step), keep=2, good=0)
    writer.append_metrics({"step": 21})
    return writer


def _names(run: RunWriter) -> list[str]:
    return sorted(path.name for path in (run.path / "checkpoints").iterdir())


def test_state_comes_back_bit_for_bit() -> None:
    transposed = torch.randn(5, 3, dtype=torch.float64).T
    state = {
        "tensors": [
            transposed,
            transposed[:, 1],
            torch.zeros(4, 0),
            torch.tensor(1.5),
            torch.get_rng_state(),
        ],
        "plain": {"none": None, "true": True, "text": "λ\n", "small": 5e-324, "third": 1 / 3, "count": 2**60},
        "odd": [math.inf, -math.inf, math.nan],
    }
    plain, tensors = split_tree(state)
    back = join_tree(plain, tensors)
    for saved, loaded in zip(state["tensors"], back["tensors"], strict=True):
        assert torch.equal(saved, loaded) and saved.dtype == loaded.dtype
        # Matrix products of a transposed matrix round in another way.
        assert saved.stride() == loaded.stride()
    assert back["plain"] == state["plain"]
    assert back["odd"][:2] == [math.inf, -math.inf] and math.isnan(back["odd"][2])


@pytest.mark.parametrize("value", [{1: 2}, object(), b"pickled"])
def test_what_is_neither_tensor_nor_plain_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        split_tree({"odd": value})


def test_the_newest_checkpoint_is_found_with_the_rows_of_its_time(run: RunWriter) -> None:
    found = find_checkpoint(run.path)
    assert found.checkpoint is not None and found.problems == ()
    assert found.checkpoint.step == found.checkpoint.state["step"] == 20
    assert torch.equal(found.checkpoint.state["model"]["weights"], torch.full((3, 4), 20.0))
    assert found.checkpoint.rows == {"metrics.jsonl": len('{"step": 10}\n{"step": 20}\n'), "events.jsonl": 0}


def test_any_altered_or_cut_file_is_noticed_and_its_checkpoint_passed_over(run: RunWriter) -> None:
    newest, chance = run.path / "checkpoints" / "step-20", random.Random(0)
    files = sorted(newest.iterdir())
    assert [path.name for path in files] == ["SHA256SUMS", "state.json", "tensors.safetensors"]
    for place in range(PLACES):
        path = chance.choice(files)
        content = path.read_bytes()
        at = chance.randrange(len(content))
        flipped = content[:at] + bytes([content[at] ^ chance.randrange(1, 256)]) + content[at + 1 :]
        path.write_bytes(flipped if place % 2 else content[:at])
        found = find_checkpoint(run.path)
        assert found.checkpoint is not None and found.checkpoint.step == 10, (path.name, at)
        assert found.damaged == (str(newest),) and str(newest) in found.problems[0]
        path.write_bytes(content)
    assert find_checkpoint(run.path).damaged == ()


@pytest.mark.parametrize("name", ["SHA256SUMS", "state.json", "tensors.safetensors"])
def test_a_missing_file_is_noticed(run: RunWriter, name: str) -> None:
    (run.path / "checkpoints" / "step-20" / name).unlink()
    found = find_checkpoint(run.path)
    assert found.checkpoint is not None and found.checkpoint.step == 10 and len(found.problems) == 1
    assert bool(found.damaged) == (name != "SHA256SUMS")


def test_a_checkpoint_of_another_format_is_told_from_one_that_can_be_used(
    run: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by an error about a part of the state that it does not have."""
    monkeypatch.setattr("incrt_cli.rundir.checkpoints.FORMAT", 10**6)
    found = find_checkpoint(run.path)
    assert found.checkpoint is None and len(found.damaged) == 2
    assert all("another version of incrt wrote it" in problem for problem in found.problems)


def test_files_of_another_checkpoint_are_no_match(run: RunWriter) -> None:
    older, newer = (run.path / "checkpoints" / f"step-{step}" for step in (10, 20))
    shutil.copy(older / "tensors.safetensors", newer / "tensors.safetensors")
    found = find_checkpoint(run.path)
    assert found.checkpoint is not None and found.checkpoint.step == 10


def test_the_mark_is_one_that_sha256sum_can_check(run: RunWriter) -> None:
    folder = run.path / "checkpoints" / "step-20"
    lines = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(lines) == {"state.json", "tensors.safetensors"}
    for name, digest in lines.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=True)


def test_going_back_takes_away_all_that_came_after(run: RunWriter) -> None:
    found = find_checkpoint(run.path)
    run.append_event({"kind": "birth"})
    run.append_metrics({"step": 22})
    (run.path / "checkpoints" / "step-30").mkdir()
    (run.path / ".result.json.0123.tmp").touch()
    (run.path / "divergence.json").write_text("{}")
    go_back(run.path, found.checkpoint)
    assert (run.path / "metrics.jsonl").read_text() == '{"step": 10}\n{"step": 20}\n'
    assert (run.path / "events.jsonl").read_text() == ""
    assert _names(run) == ["step-10", "step-20"]
    assert {path.name for path in run.path.iterdir()} == {"checkpoints", "metrics.jsonl", "events.jsonl"}
    go_back(run.path, None)
    assert (run.path / "metrics.jsonl").read_text() == "" and _names(run) == []


def test_older_ones_go_only_when_the_new_one_is_complete(run: RunWriter) -> None:
    run.save_checkpoint(30, _state(30), keep=2, good=0)
    assert _names(run) == ["step-20", "step-30"]


def test_the_last_good_one_stays_however_few_are_kept(run: RunWriter) -> None:
    for step in (30, 40):
        run.save_checkpoint(step, _state(step), keep=1, good=25)
    assert _names(run) == ["step-20", "step-40"]
    assert run.checkpoint_up_to(25) == "checkpoints/step-20" and run.checkpoint_up_to(15) is None


@pytest.mark.parametrize(
    ("call", "after"), [("mkdir", 0), *((call, after) for call in ("fsync", "replace") for after in range(3))]
)
def test_a_full_disk_is_one_message_and_leaves_the_checkpoints_there_are(
    run: RunWriter, monkeypatch: pytest.MonkeyPatch, call: str, after: int
) -> None:
    calls, real = iter(range(100)), getattr(os, call)

    def full(*arguments: Any, **options: Any) -> Any:
        if next(calls) >= after:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments, **options)

    monkeypatch.setattr(os, call, full)
    with pytest.raises(UserError, match="No space left on device"):
        run.save_checkpoint(30, _state(30), keep=1, good=0)
    monkeypatch.undo()
    assert _names(run) == ["step-10", "step-20"]
    found = find_checkpoint(run.path)
    assert found.checkpoint is not None and found.checkpoint.step == 20 and found.problems == ()


def test_a_place_where_no_folder_can_be_is_named(tmp_path: Path) -> None:
    run = RunWriter.create(tmp_path / "run", "small")
    (run.path / "checkpoints").write_text("in the way")
    with pytest.raises(UserError, match=f"{run.path}/checkpoints/step-1"):
        run.save_checkpoint(1, _state(1), keep=1, good=0)


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with alone_in(tmp_path):
        with pytest.raises(UserError, match="another process"), alone_in(tmp_path):
            pass
    with alone_in(tmp_path):
        pass


def test_resumes_are_listed_beside_what_was_there(run: RunWriter) -> None:
    run.write_environment({"incrt": "0.1"})
    run.add_resume({"step": 1})
    run.add_resume({"step": 2})
    text = (run.path / "environment.json").read_text()
    assert '"incrt"' in text and text.count('"step"') == 2
