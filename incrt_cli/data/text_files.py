"""Tables of texts from a folder, a file or the Hub, one for each part: train, validation, test."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pandas as pd
import pyarrow as pa

from incrt_cli.data.ledger import Ledger
from incrt_cli.errors import UserError
from incrt_cli.files.checksums import file_sha256
from incrt_cli.files.streams import open_bytes, open_text
from incrt_cli.files.tables import open_rows

_FILE = re.compile(
    r"(?P<part>train|dev|validation|valid|val|test)(-\d+-of-\d+)?"
    r"(?P<suffix>\.tsv|\.csv|\.jsonl|\.parquet)(\.gz|\.xz|\.lzma|\.zst|\.bz2)?"
)
_PARTS = {"dev": "validation", "valid": "validation", "val": "validation"}
_SUFFIXES = (".tsv", ".csv", ".jsonl", ".parquet")
_ORDER = ("train", "validation", "test")
UNLABELLED = "-1"  # what GLUE writes for a hidden test label
_HALF = re.compile(r"[\ud800-\udfff]")  # JSON can escape half of a surrogate pair, no encoding can write it
_PARQUET, _HEAD = b"PAR1", 64  # a Parquet file's first bytes; how many bytes tell the format


class Part(NamedTuple):
    """`frame`: the usable rows, every cell as str; `ledger`: all rows read, and why some are not in it."""

    frame: pd.DataFrame
    ledger: Ledger


def find_files(path: Path) -> dict[str, list[Path]]:
    """The files of each part; a single file is all `train`. UserError when there is none to train on."""
    if os.path.isfile(path):  # pathlib's raises for a name that is too long
        return {"train": [path]}
    if not os.path.isdir(path):
        raise UserError(f"no such file or folder: {path.absolute()} (data.path)")
    found: dict[str, list[Path]] = {}
    for file in sorted(path.iterdir()):
        if match := _FILE.fullmatch(file.name):
            found.setdefault(_PARTS.get(match["part"], match["part"]), []).append(file)
    if "train" not in found:
        raise UserError(
            f"{path.absolute()} holds no train file ({', '.join('train' + suffix for suffix in _SUFFIXES)})"
        )
    for files in found.values():
        # Shards of one part are fine; the same part in two formats is not: which one is meant?
        if len(files) > 1 and not all("-of-" in file.name for file in files):
            names = ", ".join(file.name for file in files)
            raise UserError(f"{path.absolute()} holds one part twice ({names}): remove one, or name a file")
    return found


def file_hashes(files: Mapping[str, list[Path]], folder: Path | None = None) -> dict[str, str]:
    """SHA-256 by file name; `folder` is where checksums are remembered."""
    return {str(file): file_sha256(file, folder) for group in files.values() for file in group}


def read_files(files: Mapping[str, list[Path]]) -> dict[str, Part]:
    """Each part's files in one; their content tells whether they are tables, JSON lines or Parquet.

    Raises UserError for a file that cannot be read; a table's row that cannot be used is counted.
    """
    return {part: _read_part(files[part]) for part in _ORDER if part in files}


def _read_part(files: list[Path]) -> Part:
    ledger = Ledger()
    frame = pd.concat([_read_file(file, ledger) for file in files], ignore_index=True).fillna("")
    ledger.read += len(frame)
    return Part(frame, ledger)


def _read_file(path: Path, ledger: Ledger) -> pd.DataFrame:
    with open_bytes(path, "table") as stream:
        head = stream.peek(_HEAD)[:_HEAD].lstrip()
        if head.startswith(_PARQUET):
            return _as_text(_read_parquet(stream, path))
    if head.startswith(b"{"):
        return _as_text(_read_json_lines(path))

    def drop(reason: str, where: str) -> None:
        ledger.read += 1
        ledger.drop(reason, f"{path.name}, {where}")

    with open_rows(path, report=drop) as rows:
        return pd.DataFrame(list(rows), columns=rows.columns, dtype=object)


def _read_parquet(stream: BinaryIO, path: Path) -> pd.DataFrame:
    content = io.BytesIO(stream.read())
    try:
        return pd.read_parquet(content)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{path.absolute()} is a damaged Parquet file: {error}") from error


def _read_json_lines(path: Path) -> pd.DataFrame:
    rows = []
    with open_text(path, "table") as handle:
        for number, line in enumerate(handle, start=1):
            if line.strip():
                rows.append(_json_object(line, f"{path.absolute()}, line {number}"))
    return pd.DataFrame(rows)


def _json_object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} is not JSON: {error}. JSON lines have one object in each line") from error
    if not isinstance(found, dict):
        raise UserError(f"{where} is not a JSON object but {line.strip()[:40]!r}")
    if _HALF.search(json.dumps(found, ensure_ascii=False)):
        raise UserError(f"{where}: \\ud800 to \\udfff are halves of a character: one is alone")
    return found


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as str, missing ones empty; whole numbers that a gap made floats are whole again."""
    # Parquet written by pandas may name its columns by numbers, and a config names them by text.
    frame.columns = [str(name) for name in frame.columns]
    return frame.convert_dtypes().astype("string").fillna("").astype(object)


def read_hub(hub: str) -> dict[str, Part]:
    """`repo` or `repo:config` of the Hugging Face Hub, with class names in place of class numbers.

    Raises UserError when the Hub cannot be reached or has no such dataset.
    """
    import datasets  # takes a second to import, and files need none of it

    repo, _, config = hub.partition(":")
    datasets.disable_progress_bars()
    try:
        found = datasets.load_dataset(repo, config or None)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"cannot load {hub!r} from the Hugging Face Hub: {reason}\n"
            "Check the id (repo[:config]) and the connection, or give a local folder as data.path."
        ) from error
    parts = {str(part): _hub_part(rows) for part, rows in found.items() if part in _ORDER}
    if "train" not in parts:
        splits = ", ".join(map(str, found))
        raise UserError(f"{hub!r} on the Hugging Face Hub has no train split; it has: {splits}")
    return parts


def _hub_part(rows: Any) -> Part:
    frame = rows.to_pandas()
    for name, feature in rows.features.items():
        if hasattr(feature, "int2str"):
            names = {code: feature.int2str(code) for code in range(feature.num_classes)}
            frame[name] = frame[name].map(lambda code, names=names: names.get(code, UNLABELLED))
    ledger = Ledger()
    ledger.read = len(frame)
    return Part(_as_text(frame), ledger)


def content_sha256(parts: Mapping[str, Part]) -> str:
    hasher = hashlib.sha256()
    for part in sorted(parts):
        # The Hub's cache has no one file whose bytes could be hashed.
        hasher.update(pd.util.hash_pandas_object(parts[part].frame).to_numpy().tobytes())
    return hasher.hexdigest()
