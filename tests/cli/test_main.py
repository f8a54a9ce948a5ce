"""The command line as a whole: exit codes, what is said on stderr, and what help costs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

import incrt_cli
from incrt_cli.cli import main
from incrt_cli.errors import DivergedError, UserError

HEAVY = {"torch", "datasets", "pandas", "pyarrow", "sklearn", "Bio", "pydantic", "numpy"}


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Registers a function as the verb `try` for one test."""

    def register(function: Callable[[], None]) -> None:
        module = types.ModuleType("verb_of_a_test")
        module.function = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(main.VERBS, "try", f"{module.__name__}:function")

    return register


def raiser(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


def python(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=env)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            UserError("/x.yaml:3: seed: unknown\n/x.yaml:4: too"),
            2,
            "/x.yaml:3: seed: unknown\n/x.yaml:4: too\n",
        ),
        (DivergedError("the loss is not finite at step 7"), 3, "the loss is not finite at step 7\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (OSError(28, "No space left on device"), 2, "No space left on device\n"),
        (PermissionError(13, "Permission denied", "/runs/a"), 2, "/runs/a: Permission denied\n"),
        (MemoryError("9 TB"), 2, "not enough memory: 9 TB\nlower model.width"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you"), 2, "not enough memory: Default"),
        (typer.BadParameter("not both"), 2, "Usage: incrt try [OPTIONS]\n"),
    ],
)
def test_an_expected_error_is_a_message_and_its_exit_code(
    verb: Callable[[Callable[[], None]], None],
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    message: str,
) -> None:
    verb(raiser(error))
    assert main.run(["try"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert "Traceback" not in err


def test_a_bug_is_two_lines_and_a_file_to_report(
    verb: Callable[[Callable[[], None]], None],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("INCRT_TRACEBACK", raising=False)
    verb(raiser(ZeroDivisionError("division by zero\nsecond line")))
    assert main.run(["try"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    (saved,) = tmp_path.iterdir()
    assert first == "a bug in incrt: ZeroDivisionError: division by zero"
    assert second == f"please report it with {saved} (INCRT_TRACEBACK=1 prints it here)"
    assert saved.read_text().startswith("Traceback (most recent call last)")


def test_the_traceback_of_a_bug_is_printed_on_request(
    verb: Callable[[Callable[[], None]], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INCRT_TRACEBACK", "1")
    verb(raiser(FileNotFoundError(2, "No such file", "x")))
    assert main.run(["try"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_success_is_zero(
    verb: Callable[[Callable[[], None]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    verb(lambda: print("λ done"))
    assert main.run(["try"]) == 0
    assert capsys.readouterr() == ("λ done\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "No such command 'trian'. Did you mean 'train'?"),
        (["predict_heads"], "No such command 'predict_heads'. Did you mean 'predict-heads'?"),
        (["report", "--jsn"], "No such option: --jsn"),
        (["train"], "Missing argument 'CONFIG'"),
        ([], "Usage: incrt"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message.lower() in err.lower()


@pytest.mark.parametrize("name", main.VERBS)
def test_every_verb_explains_itself(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main.run([name, "--help"]) == 0
    assert capsys.readouterr().out.strip().startswith(f"Usage: incrt {name}")


def test_help_names_every_verb_and_imports_nothing_heavy() -> None:
    script = (
        "import json, sys; from incrt_cli.cli.main import run; code = run(['--help'])\n"
        "print(json.dumps([code, sorted(sys.modules)]))"
    )
    *text, last = python("-c", script).stdout.splitlines()
    code, modules = json.loads(last)
    assert code == 0
    assert HEAVY.isdisjoint(modules)
    for name in main.VERBS:
        assert re.search(rf"^  {name} +\w", "\n".join(text), re.MULTILINE), name


def test_the_package_runs_as_a_module() -> None:
    assert python("-m", "incrt_cli", "--version").stdout == f"incrt {incrt_cli.__version__}\n"


@pytest.mark.parametrize("printing", ["print('line', flush=True)", "rich.print('line')", "print('line')"])
def test_a_closed_pipe_is_silent(printing: str) -> None:
    script = (
        "import sys, types, rich; from incrt_cli.cli import main\n"
        f"def function():\n for _ in range(20000): {printing}\n"
        "sys.modules['v'] = types.SimpleNamespace(function=function); main.VERBS['try'] = 'v:function'\n"
        "sys.argv = ['incrt', 'try']; main.main()"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(4)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == main.CLOSED_PIPE


def test_output_survives_a_terminal_without_greek() -> None:
    script = (
        "import sys, types; from incrt_cli.cli import main\n"
        "sys.modules['v'] = types.SimpleNamespace(function=lambda: print('λ'))\n"
        "main.VERBS['try'] = 'v:function'\n"
        "sys.argv = ['incrt', 'try']; main.main()"
    )
    done = python("-c", script, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "\\u03bb\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_bug_of_ours() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "incrt_cli", "--version"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (2, "No space left on device\n")
