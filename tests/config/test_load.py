"""Reading a config: what YAML means here, what overrides what, and what a file must be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrt_cli.config.load import dump_config, load_config
from incrt_cli.config.schema import FastaData
from incrt_cli.config.yaml_lines import YamlError, dump, parse
from incrt_cli.errors import UserError

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs").glob("*.yaml"))
SMALLEST = ("name=x", "data.kind=synthetic")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4),
        ("1e5", 1e5),
        (".5", 0.5),
        ("-1.", -1.0),
        ("010", 10),
        ("+3", 3),
        ("true", True),
        ("~", None),
        ("", None),
        ("no", "no"),
        ("off", "off"),
        ("yes", "yes"),
        ("21563:25384", "21563:25384"),
        ("2021-09-09", "2021-09-09"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("<<", "<<"),
        ("=", "="),
        ("'7'", "7"),
        ("!!str 7", "7"),
    ],
)
def test_scalars_follow_yaml_1_2_with_decimal_integers(text: str, value: object) -> None:
    read = parse(text).value
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: [1", 1, "expected ',' or ']'"),
        ("a: 1\nb:\n\t- 2", 3, "cannot start any token"),
        ("a: &x 1\nb: *x", 2, "aliases"),
        ("a: !!python/name:os.system x", 1, "tag !!python/name:os.system is not supported"),
        ("a: !!int x", 1, "'x' is not readable as !!int"),
        ("? [1]\n: 2", 1, "key must be plain text"),
        ("a: 1\n---\nb: 2", 2, "single document"),
        ("a: 1\nb: \x07", 2, "U+0007"),
        ("[" * 5000, None, "nested too deeply"),
        ("a: " + "9" * 5000, 1, "not readable as !!int"),
    ],
)
def test_yaml_beyond_a_config_is_refused_with_its_line(text: str, line: int | None, problem: str) -> None:
    with pytest.raises(YamlError, match=re.escape(problem)) as error:
        parse(text)
    assert error.value.line == line


@given(
    st.dictionaries(
        st.text(), st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    )
)
def test_dumped_values_are_read_back_with_their_types(values: dict[str, object]) -> None:
    read = parse(dump(values)).value
    assert read == values
    assert [type(value) for value in read.values()] == [type(value) for value in values.values()]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_load_and_survive_being_written_out(path: Path, tmp_path: Path) -> None:
    config = load_config(path)
    copy = tmp_path / "config.yaml"
    copy.write_text(dump_config(config), encoding="utf-8")
    assert load_config(copy) == config


def test_later_layers_win_and_sections_merge(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("train: {epochs: 2, batch_size: 4}\nseed: 5\n")
    base = {"name": "base", "data": {"kind": "synthetic"}, "train": {"epochs": 1, "clip_norm": 2.0}}
    config = load_config(file, ["train.batch_size=8", "seed=6", "seed=7", "gate={enabled: false}"], base)
    assert (config.name, config.seed, config.gate.enabled) == ("base", 7, False)
    assert (config.train.epochs, config.train.batch_size, config.train.clip_norm) == (2, 8, 2.0)
    assert config.train.learning_rate == 1e-3


def test_an_override_keeps_everything_after_its_first_equals_sign() -> None:
    config = load_config(
        None, [*SMALLEST, "data.cache_dir=/tmp/a=b", "data.region=1:9", "train.learning_rate=3e-4"]
    )
    assert config.data.cache_dir == "/tmp/a=b"
    assert config.model_dump()["data"]["region"] == "1:9"
    assert config.train.learning_rate == 3e-4


def test_an_empty_override_is_null() -> None:
    assert load_config(None, [*SMALLEST, "gate.prune_guard="]).gate.prune_guard is None


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"\xef\xbb\xbfname: x\r\ndata: {kind: synthetic}\r\n")
    assert load_config(file).name == "x"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": expected a config (keys and values, such as `name: demo`), got an empty file"),
        (b"# nothing\n", ": expected a config (keys and values, such as `name: demo`), got an empty file"),
        (
            b"- a\n",
            ": expected a config (keys and values, such as `name: demo`), got a list or a single value",
        ),
        (
            b"name: x\ndata: [\n",
            ":3: not readable as YAML: while parsing a flow node, expected the node content, "
            "but found '<stream end>'",
        ),
        (b"name: x\nb: \xff\n", ":2: not UTF-8 text; expected a YAML config file"),
        (b"ACGT\n" * 300_000, ": larger than 1 MiB; expected a YAML config file, not a data file"),
    ],
)
def test_a_file_that_is_no_config_gets_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(content)
    with pytest.raises(UserError) as error:
        load_config(file)
    assert str(error.value) == f"{file}{message}"


def test_paths_that_cannot_be_read_are_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cov2.yaml").touch()
    for path, message in {
        "cov.yaml": "no such file; did you mean cov2.yaml?",
        "away/zzz": "no such file",
        ".": "is a folder; expected a YAML config file",
        "cov2.yaml/x": "cannot be read: Not a directory",
    }.items():
        with pytest.raises(UserError) as error:
            load_config(Path(path))
        assert str(error.value) == f"{(tmp_path / path).absolute()}: {message}"


def test_a_dash_on_the_command_line_is_standard_input() -> None:
    base = {"name": "n", "data": {"kind": "fasta", "metadata": "m.tsv"}}
    data = load_config(None, ["data.sequences=-"], base).data
    assert isinstance(data, FastaData) and data.sequences == "-"


def test_sizes_that_compiled_libraries_cannot_take_are_refused() -> None:
    base = {"name": "n", "data": {"kind": "text", "path": "t.tsv"}}
    for key in ("vocabulary_size", "min_frequency"):
        with pytest.raises(UserError, match=f"data.{key}: expected a whole number"):
            load_config(None, [f"data.{key}={10**30}"], base)
