"""What the schema allows, read from its JSON schema: every valid key, and each value in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from typing import Any

from incrt_cli.config.schema import Config
from incrt_cli.config.yaml_lines import KeyPath

DATA: KeyPath = ("data",)  # the one section whose keys depend on its kind
KIND: KeyPath = (*DATA, "kind")

_Node = Mapping[str, Any]
_SIMILAR, _SIMILAR_WORD = 0.65, 0.7  # below, suggestions are noise: "gpu" is 0.67 like "cpu"
_BOUNDS = (("exclusiveMinimum", ">"), ("minimum", ">="), ("exclusiveMaximum", "<"), ("maximum", "<="))
_NOUNS = {
    "integer": "a whole number",
    "number": "a finite number",
    "boolean": "true or false",
    "string": "text",
    "object": "a section with keys below it",
    "null": "null",
}


@cache
def _json_schema() -> _Node:
    return Config.model_json_schema()


def _resolved(node: _Node) -> _Node:
    return _json_schema()["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


@cache
def kinds() -> dict[str, frozenset[str]]:
    """The keys of the data section, by kind."""
    mapping = _json_schema()["properties"]["data"]["discriminator"]["mapping"]
    return {kind: frozenset(_resolved({"$ref": ref})["properties"]) for kind, ref in mapping.items()}


def _section(node: _Node) -> _Node:
    """The section that a node is, or may be where it may also be null."""
    options = [option for option in node.get("anyOf", []) if "$ref" in option]
    return _resolved(options[0]) if len(options) == 1 else node


def _children(node: _Node, kind: str | None) -> dict[str, _Node]:
    """Keys right below a node; those of every kind where `kind` names none."""
    node = _section(node)
    variants = node.get("discriminator", {}).get("mapping", {})
    result: dict[str, _Node] = dict(node.get("properties", {}))
    for reference in [variants[kind]] if kind in variants else variants.values():
        result.update(_resolved({"$ref": reference})["properties"])
    return result


def _node(path: KeyPath, kind: str | None) -> _Node:
    node = _json_schema()
    for key in path:
        node = _resolved(_children(node, kind).get(key, {}))
    return node


def valid_keys(kind: str | None, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key below `path`, sections included, for data of that kind (None: of any kind)."""
    for key in _children(_node(path, kind), kind):
        yield (*path, key)
        yield from valid_keys(kind, (*path, key))


def nearest_key(path: KeyPath, kind: str | None) -> KeyPath | None:
    """The valid key whose last part is most like that of `path`; in the same section if equally like."""

    def likeness(candidate: KeyPath) -> tuple[float, bool, float]:
        leaf = SequenceMatcher(None, path[-1].lower(), candidate[-1]).ratio()
        whole = SequenceMatcher(None, ".".join(path), ".".join(candidate)).ratio()
        return leaf, candidate[:-1] == path[:-1], whole

    best = max(valid_keys(kind), key=likeness)
    return best if likeness(best)[0] >= _SIMILAR else None


def choices(path: KeyPath, kind: str | None) -> list[str]:
    """The words a key may hold, where it may hold only certain ones."""
    if path == KIND:
        return list(kinds())
    node = _node(path, kind)
    return [node["const"]] if "const" in node else node.get("enum", [])


def nearest_choice(value: object, path: KeyPath, kind: str | None) -> str | None:
    """The allowed word most like `value`, None where none is."""
    matches = get_close_matches(str(value).lower(), choices(path, kind), n=1, cutoff=_SIMILAR_WORD)
    return matches[0] if matches else None


def expected(path: KeyPath, kind: str | None) -> str:
    """What the key's value must be: "a whole number > 0", "one of error, truncate, window"."""
    words = choices(path, kind)
    if words:
        return f"one of {', '.join(words)}" if len(words) > 1 else words[0]
    node = _node(path, kind)
    return " or ".join(_in_words(_resolved(option)) for option in node.get("anyOf", [node]))


def _in_words(node: _Node) -> str:
    if "pattern" in node:
        return f"text of {node['description']}"
    if node.get("type") == "array":
        items = node["items"]
        words = f"one or more of {', '.join(items['enum'])}" if "enum" in items else _in_words(items)
        return f"a list of {words}"
    bounds = [f"{sign} {node[name]:.12g}" for name, sign in _BOUNDS if name in node]
    return " ".join([_NOUNS[node.get("type", "object")], " and ".join(bounds)]).strip()
