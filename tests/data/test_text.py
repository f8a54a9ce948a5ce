"""Labelled texts: where the parts come from, what is dropped, and what the vocabulary has seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
from tokenizers import Tokenizer

from incrt_cli.config.schema import TextData
from incrt_cli.data.build import build_task
from incrt_cli.data.summary import summary_lines
from incrt_cli.data.task import Task
from incrt_cli.errors import UserError
from tests.files.packing import PACKERS

ADJECTIVES = ("good", "fine", "great", "dull", "poor", "flat")
TRAIN = [(f"film {i} is {word} ", str(int(i % 6 < 3))) for i, word in enumerate(ADJECTIVES * 10)]
DEV = [("a good play ", "1"), ("a poor play ", "0")]


def tsv(path: Path, rows: list[tuple[str, str]], columns: str = "sentence\tlabel") -> None:
    path.write_text("\n".join([columns, *map("\t".join, rows)]) + "\n")


def task(path: Path, **settings: Any) -> Task:
    data = TextData.model_validate({"kind": "text", "path": str(path), **settings})
    return build_task(data, "text", lambda line: None)


def sizes(task: Task) -> list[int]:
    return [len(task.splits[name]) for name in ("train", "validation", "test")]


def words(task: Task, split: str, row: int) -> str:
    tokens = task.splits[split].batch([row]).tokens[0]  # type: ignore[index]
    return str(Tokenizer.from_str(json.dumps(task.vocabulary["tokenizer"])).decode(tokens.tolist()))


def test_train_and_dev_are_train_validation_and_test(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", TRAIN)
    tsv(tmp_path / "dev.tsv", DEV)
    tsv(tmp_path / "test.tsv", [("0", "no label here ")], "index\tsentence")
    made = task(tmp_path)
    assert sizes(made) == [54, 6, 2]
    assert list(made.labels) == ["0", "1"]
    assert made.splits["test"].labels.tolist() == [1, 0]
    assert made.summary["records"]["stages"]["test"]["dropped"]["no label"]["count"] == 1


def test_the_file_that_became_the_test_split_is_named_as_it_is_now(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", [*TRAIN, TRAIN[0]])
    tsv(tmp_path / "dev.tsv", DEV)
    note = "dev.tsv is the test split (no labelled test file)"
    assert note in task(tmp_path).summary["notes"]
    (tmp_path / "dev.tsv").rename(tmp_path / "valid.tsv")
    assert note.replace("dev", "valid") in task(tmp_path).summary["notes"]


def test_a_text_account_speaks_of_sentences_and_tokens(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", [*TRAIN, TRAIN[0]])
    tsv(tmp_path / "dev.tsv", DEV)
    said = summary_lines(task(tmp_path).summary)
    assert "sentences that repeat another: 1 (kept in one split); with another label: 0" in said
    assert "inputs that also occur in training: validation 0 of 6, test 0 of 2" in said
    assert any(line.startswith("tokens lost to truncation, over all encoded records: 0 of ") for line in said)
    assert not any("k-mer" in line or "region" in line for line in said)


def test_three_labelled_parts_are_used_as_they_are(tmp_path: Path) -> None:
    for name, rows in (("train", TRAIN), ("validation", DEV), ("test", [("so good ", "1")])):
        tsv(tmp_path / f"{name}.tsv", rows)
    assert sizes(task(tmp_path)) == [60, 2, 1]


def test_one_file_is_cut_in_three_and_no_validation_may_be_asked_for(tmp_path: Path) -> None:
    tsv(tmp_path / "all.tsv", TRAIN)
    assert sizes(task(tmp_path / "all.tsv", validation_fraction=0.2)) == [42, 12, 6]
    made = task(tmp_path / "all.tsv", validation_fraction=0.0)
    assert sizes(made) == [54, 0, 6]
    assert made.splits["validation"].batch([]).tokens.shape == (0, 0)


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.zst"])
def test_every_format_gives_the_same_task(tmp_path: Path, suffix: str) -> None:
    rows = [*TRAIN, ('he said "well, fine" ', "1")]
    frame = pd.DataFrame(rows, columns=["sentence", "label"]).astype({"label": int})
    writers: dict[str, Any] = {
        ".tsv": lambda: "\n".join(["sentence\tlabel", *map("\t".join, rows)]).encode(),
        ".csv": lambda: frame.to_csv(index=False).encode(),
        ".jsonl": lambda: frame.to_json(orient="records", lines=True).encode(),
        ".parquet": frame.to_parquet,
    }
    kind, _, packing = suffix[1:].partition(".")
    (tmp_path / f"train{suffix}").write_bytes(PACKERS[packing or "plain"](writers[f".{kind}"]()))
    made = task(tmp_path, test_fraction=0.0, validation_fraction=0.0)
    assert sizes(made) == [61, 0, 0]
    assert words(made, "train", 60) == 'he said "well, fine"'
    assert list(made.labels) == ["0", "1"]


def test_shards_are_one_part_and_two_formats_are_a_question(tmp_path: Path) -> None:
    tsv(tmp_path / "train-00000-of-00002.tsv", TRAIN[:30])
    tsv(tmp_path / "train-00001-of-00002.tsv", TRAIN[30:])
    assert sum(sizes(task(tmp_path))) == 60
    tsv(tmp_path / "train.tsv", TRAIN)
    with pytest.raises(UserError, match="holds one part twice"):
        task(tmp_path)


def test_unusable_rows_and_repeats_across_files_are_counted(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", [*TRAIN, (" ", "1"), ("unlabelled", ""), ("A GOOD play", "1"), ("odd", "2")])
    tsv(tmp_path / "dev.tsv", DEV)
    stage = task(tmp_path).summary["records"]["stages"]["train"]
    assert {reason: entry["count"] for reason, entry in stage["dropped"].items()} == {
        "no text": 1,
        "no label": 1,
        "same text in the test file": 1,
        "class smaller than data.min_class_size": 1,
    }
    assert (stage["read"], stage["kept"]) == (64, 60)


def test_the_vocabulary_is_learnt_from_training_texts_alone(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", TRAIN)
    tsv(tmp_path / "dev.tsv", DEV)
    made = task(tmp_path)
    vocabulary = Tokenizer.from_str(json.dumps(made.vocabulary["tokenizer"])).get_vocab()
    assert (vocabulary["[PAD]"], vocabulary["[UNK]"]) == (0, 1)
    assert len(vocabulary) == made.vocabulary_size == made.summary["vocabulary_size"]
    assert "good" in vocabulary and not {"a", "play"} & set(vocabulary)
    assert made.summary["unknown_share"]["test"] == pytest.approx(4 / 6)
    assert made.splits["test"].batch([0]).tokens.tolist() == [[1, vocabulary["good"], 1]]


@pytest.mark.parametrize("tokenizer", ["word", "subword"])
def test_the_same_texts_give_the_same_task_without_the_cache(tmp_path: Path, tokenizer: str) -> None:
    tsv(tmp_path / "train.tsv", TRAIN)
    first = task(tmp_path, tokenizer=tokenizer, cache_dir=str(tmp_path / "1"), vocabulary_size=40)
    again = task(tmp_path, tokenizer=tokenizer, cache_dir=str(tmp_path / "2"), vocabulary_size=40)
    assert first.vocabulary == again.vocabulary and first.summary == again.summary
    assert first.vocabulary_size <= 40
    rows = range(len(first.splits["train"]))
    assert first.splits["train"].batch(rows).tokens.equal(again.splits["train"].batch(rows).tokens)


def test_rare_words_and_case_follow_the_settings(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", [*TRAIN, ("Film once", "1")])
    keys = {"validation_fraction": 0.0, "test_fraction": 0.0}
    assert words(task(tmp_path, min_frequency=2, **keys), "train", 60) == "film"
    assert words(task(tmp_path, lowercase=False, **keys), "train", 60) == "Film once"


def test_a_long_text_is_an_error_or_is_cut(tmp_path: Path) -> None:
    tsv(tmp_path / "train.tsv", [*TRAIN, ("good " * 9, "1")])
    keys = {"max_tokens": 5, "validation_fraction": 0.0, "test_fraction": 0.0}
    with pytest.raises(
        UserError, match="1 records have more tokens than data.max_tokens = 5; the longest has 9"
    ):
        task(tmp_path, **keys)
    cut = task(tmp_path, too_long="truncate", **keys)
    assert cut.summary["tokens_lost"] == {"read": 249, "lost": 4, "too_long": 1, "share": 4 / 249}
    windows = task(tmp_path, too_long="window", **keys).splits["train"]
    assert windows.records[-3:].tolist() == [59, 60, 60] and windows.lengths[-2:].tolist() == [5, 4]


@pytest.mark.parametrize(
    "columns, settings, complaint",
    [
        ("a\tb", {}, "no column.*data.text.*a, b"),
        ("sentence\tscore", {}, "data.label"),
        ("sentence\tlabel", {"text": "sentense"}, "no column 'sentense'.*nearest: 'sentence'"),
    ],
)
def test_columns_that_are_not_there_are_explained(
    tmp_path: Path, columns: str, settings: dict[str, str], complaint: str
) -> None:
    tsv(tmp_path / "train.tsv", TRAIN, columns)
    with pytest.raises(UserError, match=complaint):
        task(tmp_path, **settings)


@pytest.mark.parametrize("name, content", [("train.jsonl", "{"), ("train.parquet", "x"), ("notes.txt", "x")])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=str(tmp_path)):
        task(tmp_path)
    with pytest.raises(UserError, match=f"no such file or folder: {tmp_path / 'absent'}"):
        task(tmp_path / "absent")


def test_a_hub_id_is_read_with_its_class_names(monkeypatch: pytest.MonkeyPatch) -> None:
    features = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )

    def split(rows: list[tuple[str, str]], hidden: bool = False) -> datasets.Dataset:
        columns = {
            "sentence": [text for text, _ in rows],
            "label": [-1 if hidden else int(x) for _, x in rows],
        }
        return datasets.Dataset.from_dict(columns, features=features)

    def load(repo: str, config: str | None) -> datasets.DatasetDict:
        assert (repo, config) == ("nyu-mll/glue", "sst2")
        return datasets.DatasetDict(
            train=split(TRAIN), validation=split(DEV), test=split(DEV, hidden=True), unsupervised=split(DEV)
        )

    monkeypatch.setattr(datasets, "load_dataset", load)
    made = build_task(TextData(kind="text", hub="nyu-mll/glue:sst2"), "hub", lambda line: None)
    assert sizes(made) == [54, 6, 2]
    assert list(made.labels) == ["bad", "good"]
    assert list(made.sha256) == ["nyu-mll/glue:sst2"]


def test_a_hub_that_cannot_be_reached_is_the_users_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="cannot load 'no/such:thing' from the Hugging Face Hub"):
        build_task(TextData(kind="text", hub="no/such:thing"), "hub", lambda line: None)


@pytest.mark.shared_data
def test_sst2(shared_data: Path, tmp_path: Path) -> None:
    made = task(shared_data / "sst2")
    assert made.splits["test"].labels.tolist().count(1) == 444 and len(made.splits["test"]) == 872
    assert abs(len(made.splits["validation"]) - 6735) < 30
    assert (made.summary["duplicates"], made.summary["conflicts"]) == (371, 10)
    assert made.summary["seen_inputs"]["validation"]["rows"] == 0
    assert made.summary["lengths"]["max"] == 52
