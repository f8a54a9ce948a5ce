"""`incrt report` as a user meets it."""

from __future__ import annotations

import json
import sys
from io import StringIO

import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

from incrt_cli.cli.report import report
from incrt_cli.errors import UserError
from incrt_cli.report.results import results_table
from incrt_cli.report.table import Table
from incrt_cli.report.terminal import show_tables

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(report)


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_without_a_run_every_run_under_runs_is_reported(invoke, make_run, foreign):
    make_run("first"), make_run("second", finished=False)
    answer = invoke()
    assert answer.exit_code == 0
    assert "| first | 90.0 ± 1.5 (400) |" in answer.stdout
    assert "| second | incomplete |" in answer.stdout
    assert "| holiday | foreign |" in answer.stdout


def test_a_shell_glob_may_hold_files_absent_names_and_a_run_twice(invoke, make_run, tmp_path):
    path = make_run().path
    (tmp_path / "runs" / "README.md").write_text("hello")
    answer = invoke(path, tmp_path / "runs" / "README.md", tmp_path / "gone", "runs/demo/", "--json")
    assert answer.exit_code == 0
    rows = json.loads(answer.stdout)
    assert [(row["name"], row["status"]) for row in rows] == [
        ("demo", "complete"), ("README.md", "foreign"), ("gone", "foreign"),
    ]  # fmt: skip


def test_no_runs_at_all_is_said_with_the_absolute_path(invoke, tmp_path):
    error = invoke().exception
    assert isinstance(error, UserError) and error.exit_code == 2
    assert str(error) == f"no runs under {tmp_path / 'runs'}; start one with `incrt train CONFIG`"


def test_when_no_folder_is_usable_the_reasons_are_the_message(invoke, make_run, foreign, tmp_path):
    stopped = make_run(finished=False).path
    error = invoke(stopped, foreign, tmp_path / "a", tmp_path / "b").exception
    assert isinstance(error, UserError)
    assert f"{stopped}: result.json is missing" in str(error)
    assert f"{tmp_path / 'a'}: does not exist" in str(error)
    assert "among 4 folder(s)" in str(error) and str(error).endswith("and 1 more")


def test_a_program_gets_its_list_also_when_no_run_is_finished(invoke, make_run):
    make_run(finished=False)
    answer = invoke("--json")
    assert isinstance(answer.exception, UserError)
    assert [row["accuracy"] for row in json.loads(answer.stdout)] == [None]


def test_the_tables_can_be_written_to_a_folder(invoke, make_run, tmp_path):
    make_run()
    answer = invoke("--out", "tables/today")
    written = tmp_path / "tables" / "today"
    assert (written / "report.md").read_text(encoding="utf-8") == answer.stdout
    assert (written / "report.csv").read_text().startswith("name,status,accuracy,macro_f1,heads,k_law")
    assert str(written) in answer.stderr


def test_a_single_run_is_drawn_as_well_and_several_growing_ones_are_not(invoke, make_run, tmp_path):
    make_run("one")
    assert "timeline.svg in" in invoke("--out", "single").stderr
    assert (tmp_path / "single" / "timeline.svg").read_text().startswith("<svg")
    make_run("two")
    assert "timeline" not in invoke("--out", "both").stderr
    assert not (tmp_path / "both" / "timeline.svg").exists()


def test_a_file_in_the_way_of_out_is_named(invoke, make_run, tmp_path):
    make_run()
    (tmp_path / "taken").write_text("kept")
    error = invoke("--out", "taken").exception
    assert isinstance(error, UserError) and str(tmp_path / "taken") in str(error)


@pytest.fixture
def draw(monkeypatch):
    """What a terminal of a given width shows of a table."""

    def drawn(table: Table, width: int) -> str:
        screen = StringIO()
        monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setenv("COLUMNS", str(width))
        show_tables([table])
        return Text.from_ansi(screen.getvalue()).plain

    return drawn


WIDE = Table("Heads", ("run", "heads predicted", "heads observed"), (("[red]a", "11", "12"),), ("A note.",))


def test_a_terminal_gets_drawn_tables_and_names_are_no_markup(draw):
    shown = draw(WIDE, 80)
    assert "[red]a" in shown and "A note." in shown
    assert "| run |" not in shown and "───" in shown


def test_a_row_too_wide_for_the_terminal_is_shown_as_a_column(draw):
    lines = [line.split() for line in draw(WIDE, 30).splitlines()]
    assert ["run", "[red]a"] in lines and ["heads", "observed", "12"] in lines
    assert not any({"predicted", "observed"} <= set(line) for line in lines)


@pytest.mark.parametrize("width", [50, 60, 80])
def test_no_column_is_cut_off_however_narrow_the_terminal(draw, make_run, width):
    shown = draw(results_table([make_run() for _ in range(5)]), width)
    assert shown.count("87.5") == 5 and max(map(len, shown.splitlines())) <= width
