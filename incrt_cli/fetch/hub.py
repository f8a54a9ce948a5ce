"""A text data set of the Hugging Face Hub as the files of GLUE: train.tsv and dev.tsv."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from incrt_cli.errors import UserError

Say = Callable[[str], None]
_FILES = {"train": "train.tsv", "validation": "dev.tsv"}  # the test labels of GLUE are hidden


def fetch_glue(
    hub: str, folder: Path, say: Say, load_dataset: Callable[..., Any] | None = None
) -> list[Path]:
    """Write folder/train.tsv and dev.tsv (columns sentence, label) of `repo:config`, sentences as they are.

    Files that are there with the checksum beside them are left. Raises UserError when the Hub cannot be
    reached, when rows are not sentences with labels, or when files are there that were not written so.
    """
    paths = [folder.absolute() / name for name in _FILES.values()]
    if all(_intact(path) for path in paths):
        say(f"{folder.absolute()}: there already, not fetched again (its checksums match)")
        return paths
    for path in paths:
        if path.exists() and not _intact(path):
            raise UserError(f"{path} is there already and is not as fetched: move it, or give another --to")
    parts = _load(hub, say, load_dataset)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, part in zip(paths, _FILES, strict=True):
            say(f"{path.name}: {_write(path, parts[part], f'{hub} ({part})'):,} sentences")
    except OSError as error:
        raise UserError(f"cannot write to {folder.absolute()}: {error.strerror or error}") from error
    return paths


def _load(hub: str, say: Say, load_dataset: Callable[..., Any] | None) -> Any:
    if load_dataset is None:
        import datasets  # takes a second to import, and fetching genomes needs none of it

        datasets.disable_progress_bars()
        load_dataset = datasets.load_dataset
    say(f"asking the Hugging Face Hub for {hub}")
    try:
        found = load_dataset(*hub.split(":"))
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"cannot load {hub} from the Hugging Face Hub: {reason}\n"
            "Check the connection, or give a folder with train.tsv and dev.tsv as data.path."
        ) from error
    if missing := _FILES.keys() - found.keys():
        raise UserError(f"{hub} on the Hugging Face Hub has no {', '.join(sorted(missing))} split")
    return found


def _write(path: Path, rows: Any, where: str) -> int:
    """Number of sentences written; the file appears under its name when it is whole."""
    # Of this process alone: two may write the same file at once.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    hasher, count = hashlib.sha256(), 0
    try:
        with open(temporary, "wb") as file:
            for line in _lines(rows, where):
                hasher.update(line)
                file.write(line)
                count += 1
        path.with_name(f"{path.name}.sha256").write_text(f"{hasher.hexdigest()}  {path.name}\n")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return count - 1


def _lines(rows: Any, where: str) -> Iterator[bytes]:
    yield b"sentence\tlabel\n"
    for number, row in enumerate(rows):
        try:
            sentence, label = str(row["sentence"]), int(row["label"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{where}: row {number} is no sentence with a label: {error}") from error
        # GLUE's files quote nothing, so such a sentence could not be read back.
        if set(sentence) & set("\t\r\n"):
            raise UserError(f"{where}: row {number} holds a tab or a line break: {sentence!r}")
        yield f"{sentence}\t{label}\n".encode()


def _intact(path: Path) -> bool:
    try:
        expected = path.with_name(f"{path.name}.sha256").read_text().split()[0]
        return hashlib.sha256(path.read_bytes()).hexdigest() == expected
    except (FileNotFoundError, IndexError):
        return False
