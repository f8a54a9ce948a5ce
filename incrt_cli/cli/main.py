"""The command `incrt`: finds the verbs, and turns every error into a message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from incrt_cli import __version__
from incrt_cli.errors import IncrtError, out_of_memory

OUR_BUG, USER_INPUT, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141  # the last as a shell counts SIGPIPE

# verb -> module:name of its function, or of its Typer app where it has verbs of its own
VERBS = {
    "train": "incrt_cli.cli.train:train",
    "sweep": "incrt_cli.cli.sweep:sweep",
    "predict-heads": "incrt_cli.cli.predict:predict_heads",
    "report": "incrt_cli.cli.report:report",
    "bound": "incrt_cli.cli.bound:bound",
    "diagnose": "incrt_cli.cli.diagnose:diagnose",
    "bench": "incrt_cli.cli.bench:bench",
    "data": "incrt_cli.cli.data:app",
}
_MEMORY_ADVICE = "lower model.width, data.max_tokens, data.k or train.batch_size"
_SURROUNDINGS = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS}
# Plain help: importing rich's Markdown for framed help doubles the time `incrt --help` takes.
_STYLE: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None}


class _Verbs(TyperGroup):
    """Imports a verb's module when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # A mistyped name loads every verb, so that Typer can say which one was meant.
        for name in [cmd_name] if cmd_name in VERBS else VERBS:
            if name not in self.commands:
                self.commands[name] = _load(name)
        return self.commands.get(cmd_name)


def _load(name: str) -> Any:
    module, _, attribute = VERBS[name].partition(":")
    verb = getattr(importlib.import_module(module), attribute)
    holder = typer.Typer(**_STYLE)
    if isinstance(verb, typer.Typer):
        holder.add_typer(verb, name=name)
    else:
        holder.command(name)(verb)
    return typer.main.get_group(holder).commands[name]


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    **_STYLE,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"incrt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train transformers that decide their own number of attention heads.

    Exit codes: 0 ok, 1 a bug in incrt, 2 your input cannot be used, 3 training diverged, 130 interrupted.
    """


def main() -> None:
    """Console entry: run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; never raises."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a terminal without λ still gets its table
        code = _invoke(arguments)
        sys.stdout.flush()  # here, where a closed pipe can still be caught
        return code
    except BaseException as error:
        return _explained(error)


def _invoke(arguments: Sequence[str]) -> int:
    try:
        app(args=list(arguments), prog_name="incrt")
    except SystemExit as exit_:
        # Typer and rich leave this way when a pipe is closed, with exit code 1.
        if isinstance(exit_.__context__, BrokenPipeError):
            raise exit_.__context__ from None
        if exit_.code == INTERRUPTED:
            raise KeyboardInterrupt from None
        return int(exit_.code or 0)
    return 0


def _explained(error: BaseException) -> int:
    """Say on stderr what went wrong and return the exit code for it."""
    _drop_unwritable_output()
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE
    if isinstance(error, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED)
    if isinstance(error, IncrtError):
        return _say(str(error), error.exit_code)
    if isinstance(error, OSError) and error.errno in _SURROUNDINGS:
        where = f"{os.path.abspath(error.filename)}: " if isinstance(error.filename, str) else ""
        return _say(f"{where}{error.strerror}", USER_INPUT)
    if out_of_memory(error):
        reason = str(error).split("\n")[0]
        return _say(f"not enough memory: {reason}\n{_MEMORY_ADVICE}", USER_INPUT)
    return _say(_bug(error), OUR_BUG)


def _drop_unwritable_output() -> None:
    # The interpreter flushes once more at its end, and would complain where nobody can take the output.
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: BaseException) -> str:
    details = "".join(traceback.format_exception(error))
    summary = f"a bug in incrt: {type(error).__name__}: {error}".split("\n")[0]
    if os.environ.get("INCRT_TRACEBACK"):
        return f"{details}{summary}"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="incrt-", suffix=".traceback.txt", delete=False) as file:
            file.write(details)
    except OSError:
        return f"{summary}\nplease report it with what INCRT_TRACEBACK=1 prints"
    return f"{summary}\nplease report it with {file.name} (INCRT_TRACEBACK=1 prints it here)"


def _say(message: str, code: int) -> int:
    with contextlib.suppress(OSError):  # nobody may be reading stderr any more
        if message:
            print(message, file=sys.stderr, flush=True)
    return code
