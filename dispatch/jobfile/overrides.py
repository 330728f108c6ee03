"""`--set key=value`: one value of the tree replaced before it is read, so that it is typed by the schema.

A key is a dotted path; a rule of `recovery` goes by its name (`recovery.preempted.budget=9`) or its place.
"""

from __future__ import annotations

import re

from dispatch.jobfile.kinds import Group, Kind, ListOf, MapOf, Text, job_file
from dispatch.jobfile.mistakes import Mistake, nearest
from dispatch.jobfile.tree import Node, TreeError, parse
from dispatch.units import whole_number

_PLACE = re.compile(r"(?P<name>[^\[\]]+)\[(?P<number>[0-9]{1,4})\]\Z")


class SetError(ValueError):
    """A `--set` that names no field or holds no value. Carries the mistake."""

    def __init__(self, path: str, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.mistake = Mistake(path, None, what, fix, by_set=True)


def apply(root: Node, setting: str) -> Node:
    """The tree with one setting applied. Raises SetError."""
    key, equals, text = setting.partition("=")
    if not equals or not key:
        raise SetError("", f"{setting[:60]!r} is not key=value")
    return _replaced(root, job_file(), key, _steps(key), text)


def _steps(key: str) -> list[str]:
    steps: list[str] = []
    for part in key.split("."):
        place = _PLACE.match(part)
        steps.extend((place["name"], place["number"]) if place else (part,))
    return steps


def _replaced(node: Node | None, kind: Kind, key: str, steps: list[str], text: str) -> Node:
    if not steps:
        return _value(kind, key, text)
    match kind:
        case Group():
            if steps[0] not in kind.fields:
                near = nearest(steps[0], kind.fields)
                raise SetError(key, "unknown field", f"did you mean {near}?" if near else "")
            return _with_key(node, steps[0], kind.fields[steps[0]], (key, steps[1:], text))
        case MapOf():
            return _with_key(node, ".".join(steps), kind.item, (key, [], text))
        case ListOf():
            return _with_item(node, kind, key, steps, text)
        case _:
            raise SetError(key, f"{steps[0]} is no field: a single value stands there")


def _with_key(node: Node | None, name: str, kind: Kind, rest: tuple[str, list[str], str]) -> Node:
    held = node.value if node is not None and isinstance(node.value, dict) else {}
    child = _replaced(held.get(name), kind, *rest)
    lines = node.keys if node is not None else {}
    line = lines.get(name) if rest[1] else None
    return Node(held | {name: child}, node.line if node else None, keys=lines | {name: line})


def _with_item(node: Node | None, kind: ListOf, key: str, steps: list[str], text: str) -> Node:
    held = node.value if node is not None and isinstance(node.value, list) else []
    names = [_name_of(item, number) for number, item in enumerate(held)]
    place = steps[0]
    number = whole_number(place)
    if number is None or number >= len(held):
        number = names.index(place) if place in names else None
    if number is None:
        raise SetError(key, f"nothing is named {place[:60]!r} there", f"there are {', '.join(names) or 'none'}")
    item = _replaced(held[number], kind.item, key, steps[1:], text)
    return Node([*held[:number], item, *held[number + 1 :]], node.line if node else None)


def _name_of(item: Node, number: int) -> str:
    if isinstance(item.value, dict) and "name" in item.value:
        return item.value["name"].text
    return str(number)


def _value(kind: Kind, key: str, text: str) -> Node:
    """Text is taken as it is typed; everything else is read as YAML."""
    if isinstance(kind, Text):
        return Node(text, None, text)
    try:
        return _without_lines(parse(text.encode()))
    except TreeError as error:
        raise SetError(key, f"{text[:60]!r} is no value: {error.what}") from error


def _without_lines(node: Node) -> Node:
    match node.value:
        case dict():
            fields = {name: _without_lines(child) for name, child in node.value.items()}
            return Node(fields, None, keys=dict.fromkeys(fields))
        case list():
            return Node([_without_lines(item) for item in node.value], None)
        case _:
            return Node(node.value, None, node.text)
