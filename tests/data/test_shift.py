"""The data after a shift: what may differ, and what must not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.config.schema import Data
from incrt_cli.data.build import build_task
from incrt_cli.data.check import check_data
from incrt_cli.data.shift import build_later, later_data
from incrt_cli.data.task import Task
from incrt_cli.errors import UserError

SYNTHETIC: dict[str, Any] = {
    "kind": "synthetic", "variants": 3, "genomes": 60, "genome_length": 600, "max_tokens": 100,
}  # fmt: skip


def _data(shift: dict[str, Any] | None, base: dict[str, Any] = SYNTHETIC) -> Data:
    return load_config(None, (), {"name": "demo", "data": {**base, "shift": shift}}).data


def _both(data: Data) -> tuple[Task, Task | None]:
    earlier = build_task(data, "demo", lambda line: None)
    return earlier, build_later(data, earlier, lambda line: None)


def test_without_a_shift_there_is_one_task() -> None:
    assert _both(_data(None))[1] is None


def test_another_population_has_the_same_classes_and_tokens_and_other_sequences() -> None:
    earlier, later = _both(_data({"at": 0.5, "population_seed": 1}))
    assert later is not None and list(later.labels) == list(earlier.labels)
    assert later.vocabulary_size == earlier.vocabulary_size
    first, second = (
        set(task.splits["train"].batch(range(20)).tokens.flatten().tolist()) for task in (earlier, later)
    )
    assert len(first & second) < 0.2 * len(first)


def test_the_task_before_the_shift_is_that_of_the_stationary_config() -> None:
    shifted, stationary = _both(_data({"at": 0.5, "population_seed": 1}))[0], _both(_data(None))[0]
    rows = range(len(stationary.splits["train"]))
    assert shifted.splits["train"].batch(rows).tokens.equal(stationary.splits["train"].batch(rows).tokens)


def test_the_same_genomes_can_be_read_elsewhere() -> None:
    earlier, later = _both(_data({"at": 0.5, "region": "100:399"}, {**SYNTHETIC, "region": "1:300"}))
    assert later is not None and later.splits["train"].lengths.max() == 50
    assert later.sha256 == earlier.sha256 and later.summary["region"] == "100:399"


def test_the_dial_can_get_more_fillers_or_be_drawn_anew() -> None:
    dial = {"kind": "dial", "lookups": 3, "examples": 200, "max_tokens": 20}
    earlier, later = _both(_data({"at": 0.5, "fillers": 8, "dial_seed": 1}, dial))
    assert later is not None
    assert (earlier.splits["train"].lengths.max(), later.splits["train"].lengths.max()) == (10, 14)


def test_classes_that_only_one_side_has_are_named(tmp_path: Path) -> None:
    chance = random.Random(0)
    rows = [(f"r{i}", "AB"[i % 2]) for i in range(40)]
    # The second half of every genome of class B is unknown, which data.max_unknown does not allow.
    records = {
        name: "".join(chance.choices("ACGT", k=24))
        + ("N" * 24 if label == "B" else "".join(chance.choices("ACGT", k=24)))
        for name, label in rows
    }
    records |= {f"c{i}": "".join(chance.choices("ACGT", k=48)) for i in range(20)}
    (tmp_path / "s.fasta").write_text("".join(f">{name}\n{seq}\n" for name, seq in records.items()))
    lines = [f"{name}\t{label}" for name, label in rows] + [f"c{i}\tC" for i in range(20)]
    (tmp_path / "m.tsv").write_text("\n".join(["strain\tlineage", *lines]) + "\n")
    base = {
        "kind": "fasta", "sequences": str(tmp_path / "s.fasta"), "metadata": str(tmp_path / "m.tsv"),
        "id": "strain", "label": "lineage", "region": "1:24", "max_unknown": 0.5,
    }  # fmt: skip
    data = _data({"at": 0.5, "region": "25:48"}, base)
    with pytest.raises(UserError, match=r"data\.shift: the classes .* only before it: B\."):
        _both(data)
    assert "only before it: B." in check_data(data, "demo", lambda line: None).problems[0]


@pytest.mark.parametrize(
    ("shift", "base", "message"),
    [
        ({"at": 1.0, "population_seed": 1}, {}, r"data\.shift\.at: expected a finite number > 0 and < 1"),
        ({"at": 0.5}, {}, r"changes nothing; give one of data\.shift\.region, data\.shift\.population_seed"),
        ({"population_seed": 1}, {}, r"data\.shift\.at: required key is missing"),
        ({"at": 0.5, "population_sed": 1}, {}, r"did you mean data\.shift\.population_seed"),
        ({"at": 0.5, "region": "9:1"}, {}, r"data\.shift\.region: expected start:end"),
        ({"at": 0.5, "population_seed": 1}, {"encoding": "mutations"}, r"needs data\.encoding: kmer"),
    ],
)
def test_a_shift_that_cannot_be_is_a_message(
    shift: dict[str, Any], base: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        _data(shift, {**SYNTHETIC, **base})


def test_text_has_no_shift() -> None:
    with pytest.raises(UserError, match=r"data\.shift: unknown key; it belongs to data\.kind .*not text"):
        _data({"at": 0.5}, {"kind": "text", "path": "reviews"})


def test_keys_that_do_not_go_together_after_the_shift_are_a_message() -> None:
    base = {"kind": "fasta", "sequences": "s.fasta", "metadata": "m.tsv"}
    with pytest.raises(UserError, match=r"data\.shift, with data\.region = S: .*data\.genes"):
        later_data(_data({"at": 0.5, "region": "S"}, base))
