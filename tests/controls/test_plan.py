"""Which runs stand beside a grown one."""

from __future__ import annotations

import pytest

from incrt_cli.config.load import load_config
from incrt_cli.controls.counts import CellName, equal_size, parse_name, static_heads, sweep
from incrt_cli.controls.plan import parse_seeds, plan
from incrt_cli.errors import UserError

BASE = {"name": "demo", "data": {"kind": "synthetic"}}
GROWING = ["grown", "permuted", "frozen", "random", "paper", "notebook"]


def names(*overrides: str, seeds: tuple[int, ...] = (0,), grown: dict[int, int] | None = None) -> list[str]:
    return [str(cell.name) for cell in plan(load_config(None, overrides, BASE), seeds, grown or {})]


def test_before_anything_has_grown_static_models_wait_apart_from_one_head() -> None:
    assert names() == [f"{control}-seed0" for control in [*GROWING, "static-1"]]


def test_grown_runs_of_all_seeds_come_first() -> None:
    assert names(seeds=(3, 5))[:3] == ["grown-seed3", "grown-seed5", "permuted-seed3"]


def test_the_sweep_is_the_same_at_every_seed_and_each_seed_has_its_own_size() -> None:
    static = [name for name in names(seeds=(0, 1), grown={0: 5, 1: 3}) if name.startswith("static")]
    assert static == [f"static-{heads}-seed{seed}" for heads in (1, 2, 4, 5) for seed in (0, 1)] + [
        "static-3-seed1"
    ]


def test_a_seed_whose_grown_run_failed_still_has_its_sweep() -> None:
    assert "static-4-seed1" in names(seeds=(0, 1), grown={0: 4})


def test_each_control_differs_from_the_grown_run_in_its_own_setting_alone() -> None:
    cells = {c.name.control: c.config for c in plan(load_config(None, (), BASE), [7], {7: 2})}
    assert all(config.seed == 7 for config in cells.values())
    grown = cells["grown"].model_dump()
    changed = {
        control: {
            f"{section}.{key}": value
            for section, values in config.model_dump().items()
            if isinstance(values, dict)
            for key, value in values.items()
            if grown[section][key] != value
        }
        for control, config in cells.items()
    }
    assert changed == {
        "grown": {},
        "permuted": {"data.permute_labels": True},
        "frozen": {"train.frozen": True},
        "random": {"gate.birth": "random"},
        "paper": {"gate.variant": "paper"},
        "notebook": {"gate.variant": "notebook"},
        "static-1": {"gate.enabled": False},
        "static-2": {"gate.enabled": False, "model.heads": 2},
    }


def test_a_control_that_is_the_config_itself_is_left_out() -> None:
    assert "notebook-seed0" not in names("gate.variant=notebook")


def test_a_static_config_has_no_controls() -> None:
    with pytest.raises(UserError, match=r"gate\.enabled is false"):
        names("gate.enabled=false")


@pytest.mark.parametrize(
    ("top", "counts"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 2, 4, 8]), (19, [1, 2, 4, 8, 16, 19])]
)
def test_a_sweep_doubles_up_to_the_grown_count(top: int, counts: list[int]) -> None:
    assert sweep(top) == counts


@pytest.mark.parametrize(("heads", "layers", "each"), [(7, 1, 7), (7, 2, 4), (8, 2, 4), (0, 1, 1)])
def test_an_even_static_model_has_no_fewer_heads_than_the_grown_one(
    heads: int, layers: int, each: int
) -> None:
    assert equal_size(heads, layers) == each


@pytest.mark.parametrize("name", [CellName("grown", 0), CellName("static-12", 4)])
def test_a_cell_is_read_back_from_the_name_of_its_folder(name: CellName) -> None:
    assert parse_name(str(name)) == name


def test_other_folders_are_no_cells() -> None:
    assert [parse_name(name) for name in ("demo", "demo-2", "grown-seed", "Grown-seed1")] == [None] * 4
    assert [static_heads(control) for control in ("static-12", "grown")] == [12, None]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", [3]), ("0..4", [0, 1, 2, 3, 4]), ("0, 2,5..6", [0, 2, 5, 6]), ("1,0..1", [1, 0])],
)
def test_seeds_are_a_range_or_a_list(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "4..0", "-1", "0..", "0,,1", "4294967296", "0..1000000000"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="--seeds"):
        parse_seeds(text)


def test_the_significance_gate_is_no_control_of_a_shift_which_it_cannot_follow() -> None:
    shifted = ("gate.variant=paper", "data.shift={at: 0.5, population_seed: 1}")
    assert "significance-seed0" in names(shifted[0])
    assert "significance-seed0" not in names(*shifted) and "notebook-seed0" in names(*shifted)
