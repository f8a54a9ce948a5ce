"""The grid of a sweep, from its command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.sweep.plan import MOST_CELLS, folder_name, plan_sweep


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "demo.yaml"
    path.write_text("name: demo\ndata:\n  kind: synthetic\n")
    return path


def names(path: Path, *overrides: str) -> list[str]:
    return [cell.name for cell in plan_sweep(path, overrides)]


def test_every_combination_is_a_cell_and_seeds_vary_fastest(config: Path) -> None:
    assert names(config, "seed=0..1", "gate.growth_fraction=0.05,0.1") == [
        "gate.growth_fraction=0.05,seed=0",
        "gate.growth_fraction=0.05,seed=1",
        "gate.growth_fraction=0.1,seed=0",
        "gate.growth_fraction=0.1,seed=1",
    ]


def test_names_do_not_hang_on_the_order_of_the_command_line(config: Path) -> None:
    one = names(config, "seed=0,1", "model.width=32,64", "gate.birth=random")
    other = names(config, "model.width=32,64", "seed=0,1", "gate.birth=random")
    assert one == other


def test_the_values_reach_the_configs_and_a_plain_value_holds_for_all(config: Path) -> None:
    cells = plan_sweep(config, ["seed=3..4", "train.epochs=2", "model.width=32,64"])
    found = [(cell.config.seed, cell.config.model.width, cell.config.train.epochs) for cell in cells]
    assert found == [(3, 32, 2), (4, 32, 2), (3, 64, 2), (4, 64, 2)]
    assert dict(cells[0].settings) == {"model.width": "32", "seed": "3"}


def test_ranges_and_lists_mix_and_a_value_counts_once(config: Path) -> None:
    assert names(config, "seed=0,2..4,3") == ["seed=0", "seed=2", "seed=3", "seed=4"]


def test_commas_in_brackets_or_quotes_separate_nothing(config: Path) -> None:
    cells = plan_sweep(config, ["conditioning.targets=[q, k],[v]", "seed=0,1", 'data.cache_dir="a,b"'])
    assert [cell.config.conditioning.targets for cell in cells[::2]] == [("q", "k"), ("v",)]
    assert {str(cell.config.data.cache_dir) for cell in cells} == {"a,b"}


def test_two_texts_that_look_alike_as_folders_get_two_names() -> None:
    one, other = folder_name({"data.path": "a/b"}), folder_name({"data.path": "a_b"})
    assert one.startswith("data.path=a_b-") and other == "data.path=a_b"
    assert len(folder_name({"data.path": "x" * 500})) < 200


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["seed=4..0"], r"seed=4\.\.0: the range 4\.\.0 is empty"),
        (["gate.growth_fraction=0.1..0.3"], r"gate\.growth_fraction=.*whole numbers"),
        (["seed=0,,1"], "seed=0,,1: a value is missing"),
        (["seed=0,"], "seed=0,: a value is missing"),
        (["seed=0..2", "seed=1"], "seed: given twice"),
        (["train.epochs=3"], "nothing to sweep"),
        (["seed=0,1", "train.epochs"], "expected KEY=VALUE"),
        (["gate.growth_fraction=0.1,lots"], "gate.growth_fraction"),
        (["gate.grwth_fraction=0.1,0.2"], "grwth_fraction.*growth_fraction"),
        (["gate.growth_fraction=0.1,1e-1"], "are the same run"),
    ],
)
def test_values_that_cannot_be_swept_are_named(config: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_sweep(config, overrides)


@pytest.mark.parametrize("overrides", [[f"seed=0..{MOST_CELLS}"], ["seed=0..99", "data.genomes=100..199"]])
def test_a_grid_that_is_too_large_is_refused_before_it_is_built(config: Path, overrides: list[str]) -> None:
    with pytest.raises(UserError, match="cells .*at most 1,000"):
        plan_sweep(config, overrides)


def test_a_range_beyond_all_measure_is_refused_at_once(config: Path) -> None:
    with pytest.raises(UserError, match="at most 1,000"):
        plan_sweep(config, ["seed=0..999999999999"])
