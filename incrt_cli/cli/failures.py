"""Several failed cells as one error."""

from __future__ import annotations

from collections.abc import Sequence

from incrt_cli.errors import DivergedError, IncrtError, UserError
from incrt_cli.report.table import shortened

_NAMED = 3


def summary(failures: Sequence[tuple[str, Exception]]) -> Exception:
    """What to raise for failed cells, by name: a bug where there is one, DivergedError where all diverged."""
    bug = next((error for _, error in failures if not isinstance(error, IncrtError)), None)
    if bug is not None:
        return bug  # with its traceback; the others have been said as they happened
    names = shortened([name for name, _ in failures], _NAMED)
    message = (
        f"{len(failures)} cell(s) failed, and the same command runs them again: {names}; "
        f"the first one: {failures[0][1]}"
    )
    diverged = all(isinstance(error, DivergedError) for _, error in failures)
    return DivergedError(message) if diverged else UserError(message)
