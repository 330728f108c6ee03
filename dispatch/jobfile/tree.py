"""Bytes of a job or settings file -> a tree of nodes, each with its line. YAML 1.2 core, JSON included.

Only `true` and `false` are booleans, so `on` and `no` stay words. A key twice, a tag, a second document and
anything that grows beyond the bounds (aliases expanded) is an error; nothing is ever constructed from a tag.

TreeError    the text is no YAML or breaks a bound; says where
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

FILE_BYTES_MAX = 512 * 1024
NODES_MAX = 20_000
DEPTH_MAX = 32

_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCT = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INF = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z")
_NAN = re.compile(r"\.(?:nan|NaN|NAN)\Z")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_DIGITS_MAX = 100

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    """One value of the file. `text` is what was written, for scalars. `line` is None for a `--set`."""

    value: Scalar | dict[str, Node] | list[Node]
    line: int | None
    text: str = ""
    keys: dict[str, int | None] = field(default_factory=dict)


class TreeError(ValueError):
    """The text cannot be read as one YAML document. `line` is None where no line is to blame."""

    def __init__(self, what: str, line: int | None, fix: str = "") -> None:
        super().__init__(what if line is None else f"line {line}: {what}")
        self.what = what
        self.line = line
        self.fix = fix


def plain_value(text: str) -> Scalar:
    """What a plain scalar means in the core schema, `True` and `NO` staying words."""
    if text in _NULLS:
        return None
    if text in {"true", "false"}:
        return text == "true"
    if len(text) <= _DIGITS_MAX:
        if _INT.match(text):
            return int(text)
        if _OCT.match(text) or _HEX.match(text):
            return int(text, 0)
        if _FLOAT.match(text):
            return float(text)
    if _INF.match(text):
        return float(text.replace(".", "").lower())
    if _NAN.match(text):
        return float("nan")
    return text


def parse(data: bytes) -> Node:
    """The one document in `data`. Raises TreeError."""
    if len(data) > FILE_BYTES_MAX:
        raise TreeError(f"{len(data):,} bytes are too many, {FILE_BYTES_MAX:,} may be", None)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TreeError("not UTF-8 text", line) from error
    return _Composer(_events(_tabs_of_json(text))).document()


def _tabs_of_json(text: str) -> str:
    """JSON may be indented by tabs, which YAML forbids; in valid JSON no tab stands inside a string."""
    if "\t" not in text or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text.replace("\t", " ")


def _events(text: str) -> Iterator[object]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "not YAML"
        fix = "indent with spaces" if "'\\t'" in what else ""
        raise TreeError(str(what), None if mark is None else mark.line + 1, fix) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise TreeError(f"character {error.character!r} is not allowed", line) from error
    except (YAMLError, ValueError, IndexError, AttributeError, AssertionError, OverflowError) as error:
        # The scanner lets a few of its own faults on odd input through; the input is at fault all the same.
        raise TreeError("not YAML", None) from error


class _Composer:
    """Builds the tree from parser events, counting every node that an alias repeats."""

    def __init__(self, events: Iterator[object]) -> None:
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._sizes: dict[str, int] = {}
        self._nodes = 0

    def document(self) -> Node:
        root: Node | None = None
        for event in self._events:
            kind = type(event).__name__
            if kind in ("StreamStartEvent", "DocumentStartEvent", "DocumentEndEvent", "StreamEndEvent"):
                continue
            if root is not None:
                raise TreeError("a second document", _line(event), "one file holds one job")
            root = self._node(event, 1)
        if root is None:
            raise TreeError("the file is empty", None)
        return root

    def _node(self, event: object, depth: int) -> Node:
        if depth > DEPTH_MAX:
            raise TreeError(f"nested more than {DEPTH_MAX} deep", _line(event))
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._alias(event)
        self._count(1, event)
        before = self._nodes
        if _explicit_tag(event):
            raise TreeError("a tag (!…) is not allowed", _line(event), "write the plain value")
        node = self._value(event, kind, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = node
            self._sizes[anchor] = self._nodes - before + 1
        return node

    def _value(self, event: object, kind: str, depth: int) -> Node:
        if kind == "ScalarEvent":
            return _scalar(event)
        if kind == "SequenceStartEvent":
            return self._sequence(event, depth)
        return self._mapping(event, depth)

    def _alias(self, event: object) -> Node:
        anchor = str(getattr(event, "anchor", ""))
        if anchor not in self._anchors:
            raise TreeError(f"*{anchor} names nothing that was written before it", _line(event))
        self._count(self._sizes[anchor], event)
        return self._anchors[anchor]

    def _count(self, more: int, event: object) -> None:
        self._nodes += more
        if self._nodes > NODES_MAX:
            raise TreeError(f"more than {NODES_MAX:,} values, aliases expanded", _line(event))

    def _sequence(self, start: object, depth: int) -> Node:
        items: list[Node] = []
        for event in self._events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            items.append(self._node(event, depth + 1))
        return Node(items, _line(start))

    def _mapping(self, start: object, depth: int) -> Node:
        fields: dict[str, Node] = {}
        lines: dict[str, int | None] = {}
        for event in self._events:
            if type(event).__name__ == "MappingEndEvent":
                break
            key = self._node(event, depth + 1)
            if isinstance(key.value, dict | list):
                raise TreeError("a key must be a word", _line(event))
            name = key.text
            if name in fields:
                raise TreeError(f"{name[:60]}: the key is there twice (first in line {lines[name]})", key.line)
            lines[name] = key.line
            fields[name] = self._node(next(self._events), depth + 1)
        return Node(fields, _line(start), keys=lines)


def _scalar(event: object) -> Node:
    text = _whole_characters(str(getattr(event, "value", "")), _line(event))
    value = plain_value(text) if getattr(event, "style", None) is None else text
    return Node(value, _line(event), text)


def _whole_characters(text: str, line: int | None) -> str:
    """JSON writes characters beyond the first plane as two escapes; YAML reads each alone."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise TreeError("an escape names half a character", line) from error


def _explicit_tag(event: object) -> bool:
    """Whether a tag was written; `!` alone, which means "text", counts too."""
    tag = getattr(event, "tag", None)
    return tag is not None and str(tag) != ""


def _line(event: object) -> int | None:
    mark = getattr(event, "start_mark", None)
    return None if mark is None else int(mark.line) + 1
