"""A tree of nodes against the kinds of the job file: wire values, and every mistake with its path and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from dispatch import units
from dispatch.jobfile.kinds import Duration, Flag, Group, Kind, ListOf, MapOf, Number, Size, Text, Word, every_path
from dispatch.jobfile.mistakes import Mistake, nearest
from dispatch.jobfile.tree import Node
from streams.messages.spec import RESERVED_PREFIX
from streams.messages.values import TOKEN_PATTERN

WRONG = object()
_NAME_RULE = "1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit"


@dataclass(slots=True)
class Reading:
    """What one walk over the tree collects: mistakes, and the line of every path that was written."""

    mistakes: list[Mistake] = field(default_factory=list)
    lines: dict[str, int | None] = field(default_factory=dict)

    def add(self, path: str, node: Node, what: str, fix: str = "") -> object:
        """Note a mistake; the value to go on with is `WRONG`."""
        line = self.lines.get(path, node.line)
        self.mistakes.append(Mistake(path, line, what, fix, by_set=line is None))
        return WRONG

    def value(self, node: Node, kind: Kind, path: str) -> object:
        """The wire value of `node`, or `WRONG` after noting why not."""
        if node.value is None:
            return self.add(path, node, "has no value", "write one, or leave the field out")
        match kind:
            case Group():
                return self.group(node, kind, path)
            case ListOf():
                return self._list(node, kind, path)
            case MapOf():
                return self._map(node, kind, path)
            case _:
                return self._scalar(node, kind, path)

    def group(self, node: Node, group: Group, path: str) -> object:
        """The fields of one group; unknown and missing ones are mistakes."""
        if group.word is not None and node.value == group.word:
            return {group.word: True}
        if not isinstance(node.value, dict):
            word = f"{group.word}, or " if group.word else ""
            return self.add(path, node, f"must be {word}fields ({', '.join(list(group.fields)[:4])}, …)")
        wire: dict[str, object] = {}
        for name, child in node.value.items():
            here = f"{path}.{name}" if path else name
            self.lines[here] = node.keys.get(name, child.line)
            if name not in group.fields:
                self.add(here, child, "unknown field", _suggestion(name, group))
                continue
            wire[name] = self.value(child, group.fields[name], here)
        for name in group.required:
            if name not in node.value:
                here = f"{path}.{name}" if path else name
                line = self.lines.get(path, node.line)
                self.mistakes.append(Mistake(here, line, "missing", "", by_set=line is None))
        return wire

    def _list(self, node: Node, kind: ListOf, path: str) -> object:
        if not isinstance(node.value, list):
            return self.add(path, node, "must be a list", f"write [{node.text[:40]}]" if node.text else "write [ … ]")
        if kind.length_max is not None and len(node.value) > kind.length_max:
            self.add(path, node, f"has {len(node.value)} entries, {kind.length_max} may be")
        values: list[object] = []
        for number, item in enumerate(node.value):
            here = f"{path}[{number}]"
            self.lines[here] = item.line
            values.append(self.value(item, kind.item, here))
        return values

    def _map(self, node: Node, kind: MapOf, path: str) -> object:
        if not isinstance(node.value, dict):
            return self.add(path, node, "must be names with values", "write {name: value}")
        if kind.length_max is not None and len(node.value) > kind.length_max:
            self.add(path, node, f"has {len(node.value)} names, {kind.length_max} may be")
        wire: dict[str, object] = {}
        for name, child in node.value.items():
            here = f"{path}.{name}"
            self.lines[here] = node.keys.get(name, child.line)
            self._pattern(Node(name, self.lines[here], name), kind.key, here)
            wire[name] = self.value(child, kind.item, here)
        return wire

    def _scalar(self, node: Node, kind: Kind, path: str) -> object:
        if isinstance(node.value, dict | list):
            found = "a list" if isinstance(node.value, list) else "fields"
            return self.add(path, node, f"must be {_an(kind)}, not {found}")
        match kind:
            case Text():
                return self._pattern(node, kind, path)
            case Number():
                return self._number(node, kind, path)
            case Duration():
                return self._measure(node, path, kind, units.parse_duration)
            case Size():
                return self._measure(node, path, kind, units.parse_size)
            case Flag():
                return node.value if isinstance(node.value, bool) else self._no_flag(node, path)
            case Word():
                return self._word(node, kind, path)
            case _:
                pass
        raise TypeError(f"{path}: {kind} is no kind of one value")

    def _no_flag(self, node: Node, path: str) -> object:
        word = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
        meant = word.get(node.text.lower())
        return self.add(path, node, f"{node.text[:40]} is not true or false", f"write {meant}" if meant else "")

    def _word(self, node: Node, kind: Word, path: str) -> object:
        if node.text in kind.words:
            return node.text
        near = nearest(node.text, kind.words)
        fix = f"did you mean {near}?" if near else f"use {', '.join(kind.words)}"
        return self.add(path, node, f"unknown word {node.text[:40]}", fix)

    def _number(self, node: Node, kind: Number, path: str) -> object:
        number = node.value
        if isinstance(number, bool) or not isinstance(number, int | float):
            return self.add(path, node, f"{node.text[:40]} is not a number")
        if kind.whole and not isinstance(number, int):
            return self.add(path, node, f"{node.text[:40]} is not a whole number")
        low, high = kind.low, kind.high
        if not (low is None or number >= low) or not (high is None or number <= high):
            return self.add(path, node, f"{node.text[:40]} is out of bounds", _between(_plain(low), _plain(high)))
        return number

    def _measure(self, node: Node, path: str, kind: Duration | Size, parse: Callable[[str], Decimal | int]) -> object:
        """A number with a unit, in seconds or bytes."""
        say = units.exact_duration if isinstance(kind, Duration) else _size
        try:
            measure = parse(node.text)
        except ValueError as error:
            bare = units.is_bare_number(node.text)
            example = f"{node.text}{kind.unit}" if bare else {"G": "900G"}.get(kind.unit, f"5{kind.unit}")
            return self.add(path, node, str(error), f"write {example}" if bare else f"write for example {example}")
        low, high = kind.low, kind.high
        if (low is not None and measure < Decimal(low)) or (high is not None and measure > Decimal(high)):
            bounds = _between(*(None if bound is None else say(bound) for bound in (low, high)))
            return self.add(path, node, f"{node.text[:40]} is out of bounds", bounds)
        if isinstance(kind, Duration) and not kind.whole:
            return float(measure)
        if measure != int(measure):
            return self.add(path, node, f"{node.text[:40]} is not a whole number of seconds")
        return int(measure)

    def _pattern(self, node: Node, kind: Text, path: str) -> object:
        if kind.length_max is not None and len(node.text) > kind.length_max:
            return self.add(path, node, f"{len(node.text):,} characters are too many, {kind.length_max:,} may be")
        if kind.pattern is not None and re.match(kind.pattern, node.text) is None:
            return self.add(path, node, *_unfit(node.text, kind.pattern))
        return node.text


def _unfit(text: str, pattern: str) -> tuple[str, str]:
    """What is wrong with a name, and what to do."""
    if text.startswith(RESERVED_PREFIX):
        return "reserved for dispatch", "choose another name"
    if pattern == TOKEN_PATTERN:
        return f"{text[:70]!r} is no name", _NAME_RULE
    if "A-Z" in pattern:
        return f"{text[:70]!r} is no variable's name", "letters, digits and _, not beginning with a digit"
    return f"{text[:70]!r} is no label", "1 to 63 of a-z, 0-9 and -"


def _suggestion(name: str, group: Group) -> str:
    elsewhere = next((path for path in every_path() if path.rpartition(".")[2] == name), None)
    near = elsewhere or nearest(name, group.fields)
    if near is not None:
        return f"did you mean {near}?"
    return f"known here: {', '.join(list(group.fields)[:8])}{', …' if len(group.fields) > 8 else ''}"


def _an(kind: Kind) -> str:
    match kind:
        case Number():
            return "a number"
        case Duration():
            return "a duration"
        case Size():
            return "a size"
        case Flag():
            return "true or false"
        case Word():
            return "one word"
        case _:
            return "text"


def _plain(bound: float | None) -> str | None:
    return None if bound is None else f"{int(bound):,}"


def _size(size: float) -> str:
    return units.exact_size(int(size))


def _between(low: str | None, high: str | None) -> str:
    if low is None or high is None:
        return f"{low} or more" if low is not None else f"at most {high}"
    return f"only {low}" if low == high else f"{low} to {high}"
