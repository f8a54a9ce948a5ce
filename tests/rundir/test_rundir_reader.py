"""The reader takes whatever lies in a folder and says what is wrong with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incrt_cli.rundir import RunWriter, expand_runs, find_runs, read_run

PARTS = {
    "config.yaml": "name: demo\ndata: {kind: synthetic}\n",
    "environment.json": '{"incrt": "0.1.0", "started_at": "2026-01-01T00:00:00.000000+00:00"}',
    "data.json": "{}",
    "prediction.json": "{}",
    "events.jsonl": '{"step": 1}\n{"step": 2}\n',
    "metrics.jsonl": '{"step": 1}\n',
    "result.json": '{"status": "complete"}',
}
ATTRIBUTES = {name: name.partition(".")[0] for name in PARTS}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "demo"
    path.mkdir()
    for name, text in PARTS.items():
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize("name", PARTS)
def test_a_missing_part_is_none_and_named(folder, name):
    (folder / name).unlink()
    run = read_run(folder)
    assert getattr(run, ATTRIBUTES[name]) is None
    assert len(run.problems) == 1 and run.problems[0].startswith(f"{name} is missing")
    assert run.status == ("incomplete" if name == "result.json" else "complete")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1, 2]", b"{", b"{\x00}", b"[" * 1500])
@pytest.mark.parametrize("name", [name for name in PARTS if not name.endswith(".jsonl")])
def test_a_damaged_part_is_none_and_named(folder, name, content):
    (folder / name).write_bytes(content)
    run = read_run(folder)
    assert getattr(run, ATTRIBUTES[name]) is None
    assert [problem for problem in run.problems if problem.startswith(name)] == list(run.problems)
    assert len(run.problems) == 1


@pytest.mark.parametrize(
    "tag", ["!!timestamp x", "!!bool x", "!!int ''", "!!python/object:os.system x", "2026-99-99"]
)
def test_odd_yaml_is_named_and_not_executed(folder, tag):
    (folder / "config.yaml").write_text(f"name: {tag}\n")
    run = read_run(folder)
    assert run.config is None
    assert run.problems[0].startswith("config.yaml is damaged")


def test_a_torn_last_line_costs_only_itself(folder):
    (folder / "events.jsonl").write_bytes('{"step": 1}\n{"step": 2}\n{"name": "θ'.encode()[:-1])
    run = read_run(folder)
    assert run.events == ({"step": 1}, {"step": 2})
    assert run.problems == ("events.jsonl: 1 torn line(s) left out (line 3)",)
    assert run.status == "complete"


def test_damaged_lines_in_the_middle_are_counted_with_examples(folder):
    lines = ["{", '{"step": 1}', "3", "x", "\x85", '{"text": "a\u2028b"}']
    (folder / "metrics.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run = read_run(folder)
    assert run.metrics == ({"step": 1}, {"text": "a\u2028b"})
    assert run.problems == ("metrics.jsonl: 4 torn line(s) left out (line 1, 3, 4, …)",)


def test_nan_written_by_other_hands_is_read_as_null(folder):
    (folder / "result.json").write_text('{"status": "complete", "accuracy": NaN, "loss": -Infinity}')
    assert read_run(folder).result == {"status": "complete", "accuracy": None, "loss": None}


def test_a_result_that_does_not_say_complete_is_no_finished_run(folder):
    (folder / "result.json").write_text('{"status": "diverged"}')
    run = read_run(folder)
    assert run.status == "incomplete"
    assert run.problems == ("result.json says that the run ended as 'diverged'",)


def test_a_result_about_to_be_written_can_stand_in(folder):
    (folder / "result.json").unlink()
    run = read_run(folder, pending_result={"status": "complete", "accuracy": float("nan")})
    assert (run.status, run.problems) == ("complete", ())
    assert run.result == {"status": "complete", "accuracy": None}


def test_a_run_folder_is_known_by_its_config_or_its_environment(folder):
    (folder / "config.yaml").write_text("damaged: [")
    assert read_run(folder).status == "complete"
    (folder / "environment.json").unlink()
    assert read_run(folder).status == "foreign"


@pytest.mark.parametrize("content", [{}, {"config.yaml": "model_type: bert\n"}, {"environment.json": "{}"}])
def test_other_folders_are_foreign(tmp_path, content):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    run = read_run(tmp_path)
    assert (run.status, run.config, run.result) == ("foreign", None, None)
    assert run.problems == ("holds no config.yaml or environment.json of an incrt run",)


@pytest.mark.parametrize("kind, reason", [("file", "is not a folder"), ("absent", "does not exist")])
def test_what_is_no_folder_is_foreign(tmp_path, kind, reason):
    (tmp_path / "file").write_text("")
    run = read_run(tmp_path / kind)
    assert (run.status, run.problems, run.path) == ("foreign", (reason,), tmp_path / kind)


def test_a_run_is_named_after_its_folder_also_from_inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert read_run(Path(".")).name == "demo"


def test_runs_are_found_by_start_time_then_name_and_foreign_folders_last(tmp_path):
    starts = {"late": "2026-01-02", "early": "2026-01-01", "twin": "2026-01-01", "other": None, "bare": None}
    for name, day in starts.items():
        run = RunWriter.create(tmp_path / name, name)
        if day:
            run.write_environment({"incrt": "0.1.0", "started_at": f"{day}T00:00:00.000000+00:00"})
    (tmp_path / "README.md").write_text("not a run")
    (tmp_path / ".hidden").mkdir()
    assert [path.name for path in find_runs(tmp_path)] == ["early", "twin", "late", "bare", "other"]
    assert find_runs(tmp_path / "absent") == []


def test_a_folder_of_run_folders_stands_for_its_runs_once(tmp_path):
    for name, day in (("late", 2), ("early", 1)):
        run = RunWriter.create(tmp_path / "all" / name, name)
        run.write_environment({"incrt": "0.1.0", "started_at": f"2026-01-0{day}T00:00:00+00:00"})
    (tmp_path / "all" / "notes").mkdir()
    (tmp_path / "other" / "inner").mkdir(parents=True)
    inside = [tmp_path / "all" / "early", tmp_path / "all" / "late"]
    assert expand_runs([tmp_path / "other", tmp_path / "all", inside[1]]) == [
        tmp_path / "other", *inside,
    ]  # fmt: skip
    assert find_runs(tmp_path) == [*inside, tmp_path / "other"]


def test_reading_runs_does_not_import_torch():
    program = "import sys, incrt_cli.rundir, incrt_cli.report.render; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a POSIX thing")
def test_a_named_pipe_does_not_block_the_reader(folder):
    (folder / "data.json").unlink()
    os.mkfifo(folder / "data.json")
    assert read_run(folder).problems == ("data.json is missing",)
