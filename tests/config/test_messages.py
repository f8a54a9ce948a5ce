"""Every way in which a config can be wrong, and the one line that the user reads about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.errors import UserError

NAME = "expected text of letters, digits, '.', '_' and '-' that begins with a letter or digit"

# the config, then the message without "FILE:"
ONE_PROBLEM = [
    # unknown keys, with the nearest valid one wherever it is
    ("train: {lerning_rate: 1}", "3: train.lerning_rate: unknown key; did you mean train.learning_rate?"),
    ("learning_rate: 3e-4", "3: learning_rate: unknown key; did you mean train.learning_rate?"),
    ("gate: {dropout: 0.1}", "3: gate.dropout: unknown key; did you mean model.dropout?"),
    ("gat: {enabled: false}", "3: gat: unknown key; did you mean gate?"),
    ("zzzz: 1", "3: zzzz: unknown key"),
    (
        "train.epochs: 3",
        "3: train.epochs: unknown key; dotted keys are for the command line, "
        "in a file write the key below its section",
    ),
    # wrong types
    ("seed: 1.0", "3: seed: expected a whole number >= 0 and <= 4294967295, got 1.0"),
    ("seed: '1'", "3: seed: expected a whole number >= 0 and <= 4294967295, got '1'"),
    ("seed: true", "3: seed: expected a whole number >= 0 and <= 4294967295, got true"),
    ("seed:", "3: seed: expected a whole number >= 0 and <= 4294967295, got nothing"),
    ("train: {epochs: many}", "3: train.epochs: expected a finite number > 0 and <= 1000000, got 'many'"),
    ("gate: {enabled: no}", "3: gate.enabled: expected true or false, got 'no'"),
    ("gate: {max_heads: [4]}", "3: gate.max_heads: expected a whole number > 0 or null, got a list"),
    ("train: 3", "3: train: expected a section with keys below it, got 3"),
    ("train:", "3: train: expected a section with keys below it, got nothing"),
    ("seed: {train: 1}", "3: seed: expected a whole number >= 0 and <= 4294967295, got a section"),
    (f"seed: {'x' * 99}", f"3: seed: expected a whole number >= 0 and <= 4294967295, got '{'x' * 40}…'"),
    # out of range
    ("seed: -1", "3: seed: expected a whole number >= 0 and <= 4294967295, got -1"),
    ("train: {warmup_fraction: 1}", "3: train.warmup_fraction: expected a finite number >= 0 and < 1, got 1"),
    ("train: {weight_decay: .inf}", "3: train.weight_decay: expected a finite number >= 0, got .inf"),
    ("gate: {step: .nan}", "3: gate.step: expected a finite number > 0 and < 1, got .nan"),
    # one word of several
    (
        "train: {precision: float23}",
        "3: train.precision: expected one of float32, bfloat16, got 'float23'; did you mean float32?",
    ),
    ("train: {device: gpu}", "3: train.device: expected one of auto, cpu, cuda, got 'gpu'"),
    (
        "gate: {variant: book}",
        "3: gate.variant: expected one of significance, paper, notebook, got 'book'",
    ),
    (
        "conditioning: {targets: [v, o, 3]}",
        "3: conditioning.targets: expected a list of one or more of q, k, v, got [v, o, 3]",
    ),
    (
        "conditioning: {targets: []}",
        "3: conditioning.targets: expected a list of one or more of q, k, v, got []",
    ),
    (
        "conditioning: {targets: q}",
        "3: conditioning.targets: expected a list of one or more of q, k, v, got 'q'",
    ),
    ("model: {head_width: 1}", "3: model.head_width: expected a whole number >= 2, got 1"),
    # repeated
    ("seed: 1\nseed: 2", "4: seed: duplicate key; first given on line 3"),
    ("train:\n  epochs: 1\n\n  epochs: 1", "6: train.epochs: duplicate key; first given on line 4"),
]


@pytest.mark.parametrize(("text", "message"), ONE_PROBLEM)
def test_one_problem_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"name: x\ndata: {{kind: synthetic}}\n{text}\n")
    with pytest.raises(UserError) as error:
        load_config(file)
    assert str(error.value) == f"{file}:{message}"


DATA = [
    ("name: x", ["1: data: required key is missing; expected a section with keys below it"]),
    ("data: {kind: synthetic}", [f"1: name: required key is missing; {NAME}"]),
    ("name: 2021\ndata: {kind: synthetic}", [f"1: name: {NAME}, got 2021; put it in quotes to make it text"]),
    ("name: a/b\ndata: {kind: synthetic}", [f"1: name: {NAME}, got 'a/b'"]),
    (
        "name: x\ndata: {}",
        ["2: data.kind: required key is missing; expected one of compose, dial, fasta, synthetic, text"],
    ),
    ("name: x\ndata: [1]", ["2: data: expected a section with keys below it, got a list"]),
    (
        "name: x\n\ndata:\n  kind: fasta\n  metadata: m.tsv",
        ["3: data.sequences: required key is missing; expected text"],
    ),
    (
        "name: x\ndata: {kind: synthetic, sequences: a.fasta}",
        ["2: data.sequences: unknown key; it belongs to data.kind fasta, not synthetic"],
    ),
    ("name: x\ndata: {kind: text}", ["2: data: give exactly one of data.path and data.hub"]),
    (
        "name: x\ndata: {kind: synthetic, region: '9:3'}",
        [
            "2: data.region: expected start:end with 1 <= start <= end, for example 21563:25384, "
            "or the name of a gene, got '9:3'"
        ],
    ),
    # an unknown kind still shows what else is wrong, and nothing that only a guessed kind would forbid
    (
        "name: x\ndata:\n  kind: fast\n  stride: 0\n  hub: y\n  sequence: z",
        [
            "3: data.kind: expected one of compose, dial, fasta, synthetic, text, got 'fast'; "
            "did you mean fasta?",
            "4: data.stride: expected a whole number > 0, got 0",
            "6: data.sequence: unknown key; did you mean data.sequences?",
        ],
    ),
    # a wrong value does not hide the rule across keys, unless the rule is about that very key
    (
        "name: x\ndata: {kind: text, min_frequency: 0}",
        [
            "2: data.min_frequency: expected a whole number > 0 and <= 2147483647, got 0",
            "2: data: give exactly one of data.path and data.hub",
        ],
    ),
    (
        "name: x\ndata: {kind: text, path: 3}",
        ["2: data.path: expected text or null, got 3; put it in quotes to make it text"],
    ),
]


@pytest.mark.parametrize(("text", "messages"), DATA)
def test_required_keys_and_the_kinds_of_data(tmp_path: Path, text: str, messages: list[str]) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        load_config(file)
    assert str(error.value).splitlines() == [f"{file}:{message}" for message in messages]


OVERRIDES = [
    ("seed", "'seed': expected KEY=VALUE, such as train.epochs=3"),
    ("=3", "'=3': expected KEY=VALUE, such as train.epochs=3"),
    ("train..epochs=3", "'train..epochs=3': expected KEY=VALUE, such as train.epochs=3"),
    ("gte.enabled=false", "gte.enabled: unknown key; did you mean gate.enabled?"),
    ("seed=", "seed: expected a whole number >= 0 and <= 4294967295, got nothing"),
    ("train.epochs=0", "train.epochs: expected a finite number > 0 and <= 1000000, got 0"),
    ("name='a=b'", f"name: {NAME}, got 'a=b'"),
    ("train={epochs: 1, epochs: 2}", "train.epochs: given twice"),
    (
        "data.cache_dir=@x",
        "data.cache_dir: value '@x' is not readable as YAML: "
        "while scanning for the next token, found character '@' that cannot start any token; "
        "put it in quotes",
    ),
]


@pytest.mark.parametrize(("override", "message"), OVERRIDES)
def test_overrides_are_named_as_the_command_line(override: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        load_config(None, ["name=x", "data.kind=synthetic", override])
    assert str(error.value) == f"command line: {message}"


def test_an_override_cannot_hide_that_the_file_holds_no_section(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("name: x\ndata: {kind: synthetic}\ngate: 3\n")
    with pytest.raises(UserError) as error:
        load_config(file, ["gate.enabled=false"])
    assert str(error.value).splitlines() == [
        f"{file}:3: gate: expected a section with keys below it, got 3",
        f"command line: gate.enabled: gate ({file}:3) is no section, it holds 3",
    ]


def test_everything_is_reported_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("data: {kind: text}\nseed: x\nseed: y\nmodel: {head_width: 1, heads: 0}\nlayer: 2\n")
    with pytest.raises(UserError) as error:
        load_config(file, ["train.epochs=none", "oops"])
    assert [line.removeprefix(f"{file}:") for line in str(error.value).splitlines()] == [
        "1: data: give exactly one of data.path and data.hub",
        f"1: name: required key is missing; {NAME}",
        "3: seed: duplicate key; first given on line 2",
        "3: seed: expected a whole number >= 0 and <= 4294967295, got 'y'",
        "4: model.head_width: expected a whole number >= 2, got 1",
        "4: model.heads: expected a whole number > 0, got 0",
        "5: layer: unknown key; did you mean model.layers?",
        "command line: train.epochs: expected a finite number > 0 and <= 1000000, got 'none'",
        "command line: 'oops': expected KEY=VALUE, such as train.epochs=3",
    ]


def test_a_key_of_a_section_that_another_kind_has_is_said_to_be_of_that_kind() -> None:
    with pytest.raises(UserError) as error:
        load_config(None, ["data.shift.at=0.5"], {"name": "x", "data": {"kind": "compose"}})
    assert "data.shift.at: unknown key; it belongs to data.kind" in str(error.value)
    assert "not compose" in str(error.value)
