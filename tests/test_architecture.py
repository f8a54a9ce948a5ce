"""Data flows one way through the rooms: who may import whom is this table, and nothing else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from incrt_cli.cli.main import VERBS

PACKAGE = Path(__file__).resolve().parent.parent / "incrt_cli"

# room -> the rooms whose results it may use (beside itself)
UPSTREAM: dict[str, set[str]] = {
    "errors": set(),
    "config": {"errors"},
    "files": {"errors"},
    "sequences": {"errors", "files"},
    "fetch": {"errors", "files"},
    "data": {"errors", "config", "files", "sequences"},
    "geometry": set(),
    "model": {"errors", "geometry"},
    "growth": {"errors", "config", "data", "geometry", "model"},
    "rundir": {"errors", "config"},
    "complexity": {"errors", "geometry", "model", "rundir"},
    "training": {"errors", "config", "data", "geometry", "model", "growth", "rundir", "complexity"},
    "diagnosis": {"errors", "config", "data", "geometry", "model", "growth", "training", "rundir"},
    "bench": {"errors", "config", "files", "sequences", "data", "geometry", "model", "growth", "training"},
    "controls": {"errors", "config", "rundir"},
    "sweep": {"errors", "config", "rundir", "controls"},
    "report": {"errors", "rundir", "controls"},
}
UPSTREAM["cli"] = set(UPSTREAM)  # the verbs put the rooms together, and no room knows of them

MODULES = sorted(PACKAGE.rglob("*.py"))
LIGHT = {*sys.stdlib_module_names, "typer", "rich"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(nodes: list[ast.stmt]) -> Iterator[str]:
    """Dotted names of everything imported in these statements or inside them."""
    for node in (inner for statement in nodes for inner in ast.walk(statement)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_rooms(names: Iterator[str]) -> set[str]:
    parts = (name.split(".") for name in names if name.startswith(f"{PACKAGE.name}."))
    return {name[1] for name in parts if not name[1].startswith("__")}


def test_the_table_names_every_room() -> None:
    assert {room_of(path) for path in MODULES} - {"__init__", "__main__"} == set(UPSTREAM)


@pytest.mark.parametrize("room", UPSTREAM)
def test_a_room_imports_only_what_lies_upstream(room: str) -> None:
    wrong = {
        str(path.relative_to(PACKAGE)): sorted(found)
        for path in MODULES
        if room_of(path) == room
        and (found := own_rooms(imports(ast.parse(path.read_text()).body)) - UPSTREAM[room] - {room})
    }
    assert not wrong


def test_the_table_has_no_cycle() -> None:
    left = dict(UPSTREAM)
    while left:
        free = [room for room, upstream in left.items() if not upstream & left.keys()]
        assert free, f"these import each other: {sorted(left)}"
        for room in free:
            del left[room]


def test_geometry_is_pure_functions_on_tensors() -> None:
    names = {
        name.split(".")[0]
        for path in MODULES
        if room_of(path) == "geometry"
        for name in imports(ast.parse(path.read_text()).body)
    }
    assert names <= {*sys.stdlib_module_names, "torch", PACKAGE.name}


@pytest.mark.parametrize("target", ["incrt_cli.cli.main:main", *VERBS.values()])
def test_a_verb_is_light_until_it_is_called(target: str) -> None:
    """So that `incrt --help` can read every signature without importing torch."""
    path = PACKAGE.parent / (target.partition(":")[0].replace(".", "/") + ".py")
    # What stands under `if TYPE_CHECKING` or inside a function is not imported with the module.
    statements = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = set(imports(list(statements)))
    assert own_rooms(iter(names)) <= {"cli", "errors"}
    assert {name.split(".")[0] for name in names} <= LIGHT | {PACKAGE.name}
