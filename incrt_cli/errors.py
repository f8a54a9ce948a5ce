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


class ShortOfMemoryError(UserError):
    """What is trained does not fit into this machine's memory; the newest checkpoint is as it was."""


def out_of_memory(error: BaseException) -> bool:
    """Is it the refusal of an allocator: Python's, numpy's or torch's?"""
    # torch is not imported here to name its class; on a CPU it raises a bare RuntimeError.
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "DefaultCPUAllocator: can't allocate memory" in str(error)
    )


class DivergedError(IncrtError):
    """Training met a non-finite loss or operator; the last good state was kept."""

    exit_code = 3
