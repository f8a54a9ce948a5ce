"""Tables of texts from a folder, a file or the Hub, one for each part: train, validation, test."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pandas as pd

from incrt_cli.data.archives import open_text
from incrt_cli.data.cache import file_sha256
from incrt_cli.data.metadata import open_table
from incrt_cli.errors import UserError

_FILE = re.compile(
    r"(?P<part>train|dev|validation|valid|val|test)(-\d+-of-\d+)?"
    r"(?P<suffix>\.tsv|\.csv|\.jsonl|\.parquet)(\.gz|\.xz|\.zst|\.bz2)?"
)
_PARTS = {"dev": "validation", "valid": "validation", "val": "validation"}
_SUFFIXES = (".tsv", ".csv", ".jsonl", ".parquet")
_ORDER = ("train", "validation", "test")
UNLABELLED = "-1"  # what GLUE writes for a hidden test label


def find_files(path: Path) -> dict[str, list[Path]]:
    """The files of each part; a single file is all `train`. UserError when there is none to train on."""
    if path.is_file():
        return {"train": [path]}
    if not path.is_dir():
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


def file_hashes(files: Mapping[str, list[Path]]) -> dict[str, str]:
    return {str(file): file_sha256(file) for group in files.values() for file in group}


def read_files(files: Mapping[str, list[Path]]) -> dict[str, pd.DataFrame]:
    return {
        part: pd.concat([_read_file(file) for file in group], ignore_index=True)
        for part, group in sorted(files.items(), key=lambda item: _ORDER.index(item[0]))
    }


def _read_file(path: Path) -> pd.DataFrame:
    if path.name.endswith(".parquet"):
        return _as_text(_read_parquet(path))
    if ".jsonl" in path.suffixes:
        return _as_text(_read_json_lines(path))
    with open_table(path) as chunks:
        return pd.concat(list(chunks), ignore_index=True)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path.absolute()}: {error}") from error


def _read_json_lines(path: Path) -> pd.DataFrame:
    rows = []
    with open_text(path, "table") as handle:
        for number, line in enumerate(handle, start=1):
            try:
                rows.append(dict(json.loads(line)))
            except (ValueError, TypeError) as error:
                raise UserError(f"{path.absolute()}:{number} is not a JSON object: {error}") from error
    return pd.DataFrame(rows)


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as str, missing ones empty; whole numbers that a gap made floats are whole again."""
    return frame.convert_dtypes().astype("string").fillna("").astype(object)


def read_hub(hub: str) -> dict[str, pd.DataFrame]:
    """`repo` or `repo:config` of the Hugging Face Hub, with class names in place of class numbers.

    Raises UserError when the Hub cannot be reached or has no such dataset.
    """
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
    parts = {str(part): _hub_frame(rows) for part, rows in found.items() if part in _ORDER}
    if "train" not in parts:
        splits = ", ".join(map(str, found))
        raise UserError(f"{hub!r} on the Hugging Face Hub has no train split; it has: {splits}")
    return parts


def _hub_frame(rows: Any) -> pd.DataFrame:
    frame = rows.to_pandas()
    for name, feature in rows.features.items():
        if hasattr(feature, "int2str"):
            names = {code: feature.int2str(code) for code in range(feature.num_classes)}
            frame[name] = frame[name].map(lambda code, names=names: names.get(code, UNLABELLED))
    return _as_text(frame)


def content_sha256(parts: Mapping[str, pd.DataFrame]) -> str:
    hasher = hashlib.sha256()
    for part in sorted(parts):
        # The Hub's cache has no one file whose bytes could be hashed.
        hasher.update(pd.util.hash_pandas_object(parts[part]).to_numpy().tobytes())
    return hasher.hexdigest()
