"""The errors a user can meet. `incrt_cli.cli.main` alone turns them into messages and exit codes."""

from __future__ import annotations


class IncrtError(Exception):
    """Base of every expected error; the message is printed as it is, without a traceback.

    None is printed for an error without one: another process has said it.
    """

    exit_code = 1


class UserError(IncrtError):
    """Something the user gave (config, file, folder, argument) cannot be used."""

    exit_code = 2


class DivergedError(IncrtError):
    """Training met a non-finite loss or operator; the last good state was kept."""

    exit_code = 3
