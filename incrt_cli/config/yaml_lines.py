"""YAML text to plain values and the line of every key, and back.

Scalars follow the YAML 1.2 core schema with decimal integers only: `3e-4` is a float, `no` and
`21563:25384` are text. PyYAML's own resolvers follow YAML 1.1, where all three are something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

KeyPath = tuple[str, ...]
_TAG = "tag:yaml.org,2002:"
_RESOLVERS = (
    ("null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")),
    ("int", re.compile(r"[-+]?[0-9]+\Z"), list("-+0123456789")),
    (
        "float",
        re.compile(
            r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
        ),
        list("-+.0123456789"),
    ),
)


class YamlError(ValueError):
    """Text that cannot be read; `line` counts from 1, None where the parser knows none."""

    def __init__(self, problem: str, line: int | None) -> None:
        super().__init__(problem)
        self.line = line


@dataclass
class Document:
    """A parsed document: values, the line of every key, and (path, line before, line) of repeats."""

    value: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    repeats: list[tuple[KeyPath, int, int]] = field(default_factory=list)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # its own: SafeLoader's are YAML 1.1

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        # An alias could make a document refer to itself, or grow without bound when written out.
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not supported", problem_mark=mark)
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):
    """Quotes text that either version of YAML would read as something else."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Outside double quotes PyYAML writes every kind of line break as it is, and reads back "\n".
        style = '"' if re.search("[\n\x85\u2028\u2029]", data) else None
        return self.represent_scalar(_TAG + "str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)
for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_TAG + _name, _pattern, _first)
    _Dumper.add_implicit_resolver(_TAG + _name, _pattern, _first)


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _number(text: str) -> float:
    return float(re.sub(r"\.(inf|nan)\Z", r"\1", text.lower()))


_SCALARS: Mapping[str, Callable[[str], Any]] = {
    _TAG + "null": lambda text: None,
    _TAG + "bool": _truth,
    _TAG + "int": int,
    _TAG + "float": _number,
    _TAG + "str": str,
}


def parse(text: str) -> Document:
    """Read one YAML document; keys are text as written, and a repeated key keeps its last value.

    Raises YamlError where the text is not YAML, or uses more of YAML than a config needs.
    """
    document = Document()
    try:
        node = _Loader(text).get_single_node()
        if node is not None:
            document.value = _value(node, (), document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise YamlError(problem, mark.line + 1 if mark else None) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(f"character U+{ord(text[error.position]):04X} is not allowed", line) from error
    except RecursionError as error:
        raise YamlError("nested too deeply", None) from error
    return document


def dump(values: Mapping[str, Any]) -> str:
    """YAML text of plain values in their own order; `parse` reads the same values back."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _value(node: yaml.Node, path: KeyPath, document: Document) -> Any:
    if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
        return _mapping(node, path, document)
    if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
        return [_value(item, (*path, str(number)), document) for number, item in enumerate(node.value)]
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.ScalarNode) or node.tag not in _SCALARS:
        raise YamlError(f"the tag {node.tag.replace(_TAG, '!!')} is not supported", line)
    try:
        return _SCALARS[node.tag](node.value)
    except (ValueError, KeyError) as error:  # an explicit tag, or an integer of thousands of digits
        tag = node.tag.replace(_TAG, "!!")
        raise YamlError(f"{node.value[:40]!r} is not readable as {tag}", line) from error


def _mapping(node: yaml.MappingNode, path: KeyPath, document: Document) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise YamlError("a key must be plain text", line)
        key = (*path, key_node.value)
        if key in document.lines:
            document.repeats.append((key, document.lines[key], line))
        document.lines[key] = line
        result[key_node.value] = _value(value_node, key, document)
    return result
