"""Writing files so that a reader, or a crash, never meets half of one."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from incrt_cli.errors import UserError


def write_atomic(path: Path, content: bytes | str) -> None:
    """Replace `path` by `content` in one step: temporary file in the same folder, fsync, rename.

    After a failure the old file is as it was and no temporary file is left. Raises UserError with the
    absolute path when the system refuses (permission, full disk).
    """
    # Opened by hand, not by `tempfile`, whose files no other user of the machine may read.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as stream:
            stream.write(encode(content))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def append_line(path: Path, line: str) -> None:
    """Append `line` and a newline, and hand them to the system before returning. Raises UserError."""
    try:
        with open(path, "ab") as stream:
            stream.write(encode(line + "\n"))
    except OSError as error:
        raise _refused(path, error) from error


def encode(content: bytes | str) -> bytes:
    # A file name that is not UTF-8 reaches us as lone surrogates; they are written as \udcXX, which
    # is also how JSON spells them.
    return content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")


def _refused(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot write {path.absolute()}: {error.strerror or error}")
