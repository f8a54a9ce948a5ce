"""Files of texts: what a file holds tells how it is read, and what is wrong with it is told with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from incrt_cli.config.schema import TextData
from incrt_cli.data.ledger import Ledger
from incrt_cli.data.text import encode_texts
from incrt_cli.data.text_files import Part, find_files, read_files
from incrt_cli.data.text_rows import TextRows
from incrt_cli.errors import UserError
from tests.files.packing import PACKERS, tar

ROWS = [("a film", "01"), ("NA", ""), ('"quoted', "None")]
FRAME = pd.DataFrame(ROWS, columns=["text", "label"])
TSV = b"text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS).encode()
FORMATS = {
    "tsv": TSV,
    "csv": FRAME.to_csv(index=False).encode(),
    "jsonl": b"\n" + FRAME.to_json(orient="records", lines=True).encode() + b"\n\n",
    "parquet": FRAME.to_parquet(),
}


def read(path: Path) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in read_files(find_files(path))["train"].frame.to_numpy().tolist()]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("packing", PACKERS)
def test_a_single_file_of_any_name_is_read_by_what_it_holds(tmp_path: Path, form: str, packing: str) -> None:
    path = tmp_path / "reviews.tsv.gz"
    path.write_bytes(PACKERS[packing](FORMATS[form]))
    assert read(path) == ROWS
    path.write_bytes(PACKERS[packing](tar({"readme.txt": b"x", f"reviews.{form}": FORMATS[form]})))
    assert read(path) == ROWS


def test_parts_are_found_by_name_and_shards_are_one_part(tmp_path: Path) -> None:
    (tmp_path / "train-00000-of-00002.tsv").write_bytes(TSV)
    (tmp_path / "train-00001-of-00002.jsonl").write_bytes(b'{"text": "x", "label": 1, "more": null}\n')
    (tmp_path / "dev.csv.lzma").write_bytes(PACKERS["lzma"](FORMATS["csv"]))
    (tmp_path / "notes.txt").write_bytes(b"x")
    parts = read_files(find_files(tmp_path))
    assert {name: (part.ledger.read, len(part.frame)) for name, part in parts.items()} == {
        "train": (4, 4),
        "validation": (3, 3),
    }
    assert parts["train"].frame.iloc[-1].tolist() == ["x", "1", ""]
    assert parts["train"].frame.iloc[0].tolist() == ["a film", "01", ""]


def test_rows_that_cannot_be_used_are_counted_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_bytes(TSV + b"a\ttab\ttoo many\n\nlonely\n")
    part = read_files({"train": [path]})["train"]
    assert (part.ledger.read, len(part.frame)) == (5, 3)
    assert part.ledger.dropped == {
        "row with 3 cells where the header has 2": {"count": 1, "examples": ["train.tsv, line 5"]},
        "row with 1 cells where the header has 2": {"count": 1, "examples": ["train.tsv, line 7"]},
    }


@pytest.mark.parametrize(
    "content, complaint",
    [
        (b'{"text": "a"}\n{"text": \n', ", line 2 is not JSON: .*one object in each line"),
        (b'{"text": "a"}\n\n["a"]\n', ", line 3 is not a JSON object but '.\"a\".'"),
        (b"{" + b'"a":[' * 100_000, ", line 1 is not JSON"),
        (FORMATS["parquet"][:-9], " is a damaged Parquet file"),
        (FORMATS["parquet"][:40] + FORMATS["parquet"][60:], " is a damaged Parquet file"),
        (b"", " is empty"),
        (b"<html>\n", " is a web page"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_line(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"{path}{complaint}"):
        read(tmp_path)


def test_the_account_balances_with_rows_that_could_not_be_used(tmp_path: Path) -> None:
    lines = [f"film {i} is {'good' if i % 2 else 'poor'}\t{i % 2}" for i in range(20)]
    (tmp_path / "train.tsv").write_text("\n".join(["text\tlabel", *lines, "lonely", "\t1", ""]))
    data = TextData(kind="text", path=str(tmp_path), min_class_size=1)
    account = encode_texts(data, lambda line: None).entry.account["stages"]["train"]
    reasons = {reason: entry["count"] for reason, entry in account["dropped"].items()}
    assert (account["read"], account["kept"]) == (22, 20)
    assert reasons == {"row with 1 cells where the header has 2": 1, "no text": 1}


def test_two_columns_of_one_name_are_a_question_in_every_part(tmp_path: Path) -> None:
    twice = pd.DataFrame([["a", "b", "1"]], columns=["text", "text", "label"])
    once = pd.DataFrame([["a", "1"]], columns=["text", "label"])
    for train, dev, where in ((twice, once, ""), (once, twice, "the dev part of ")):
        parts = {"train": Part(train, Ledger()), "dev": Part(dev, Ledger())}
        with pytest.raises(UserError, match=f"^{where}here has 2 columns 'text' .data.text.: rename"):
            TextRows(parts, TextData(kind="text", path="x"), "here", {})
