"""What each field of a job file may hold: derived from the wire types, so that the two cannot differ.

`streams.messages.spec` and `plan` say names, bounds and defaults; `notes` adds units and words for people.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from msgspec import inspect

from dispatch.jobfile import notes
from streams.messages.plan import FastFail, PlanRule
from streams.messages.spec import JobSpec
from streams.messages.values import Token


@dataclass(frozen=True, slots=True)
class Text:
    """Text; `words.of_pattern` says in words what `pattern` asks for."""

    pattern: str | None = None
    length_max: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `whole` ones take no fraction. Bounds are inclusive."""

    low: float | None
    high: float | None
    whole: bool


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds on the wire, a number with a unit in the file. `unit` is the one people most often mean."""

    low: float | None
    high: float | None
    whole: bool
    unit: str


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes on the wire, a number with a unit in the file."""

    low: float | None
    high: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Flag:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class Word:
    """One of these words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, every entry of one kind."""

    item: Kind
    length_max: int | None = None


@dataclass(frozen=True, slots=True)
class MapOf:
    """Names with values of one kind; `key` says what a name may be."""

    key: Text
    item: Kind
    length_max: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Named fields. `word`: the one word that may stand for the whole group (`fast_fail: off`)."""

    fields: dict[str, Kind]
    required: tuple[str, ...] = ()
    word: str | None = None


Kind = Text | Number | Duration | Size | Flag | Word | ListOf | MapOf | Group


@functools.cache
def job_file() -> Group:
    """The whole file: its own three fields, the spec's, and the plan's two."""
    spec = _group(inspect.type_info(JobSpec), "")
    own: dict[str, Kind] = {
        "version": Number(1, 1, whole=True),
        "name": _kind(inspect.type_info(Token), "name"),
        "tenant": _kind(inspect.type_info(Token), "tenant"),
    }
    plan: dict[str, Kind] = {
        "recovery": ListOf(_group(inspect.type_info(PlanRule), "recovery"), 32),
        "fast_fail": _fast_fail(),
    }
    return Group(own | spec.fields | plan, ("version", *spec.required))


def _fast_fail() -> Group:
    whole = _group(inspect.type_info(FastFail), "fast_fail")
    fields = {name: kind for name, kind in whole.fields.items() if name != "off"}
    return Group(fields, word="off")


def _group(info: inspect.Type, path: str) -> Group:
    assert isinstance(info, inspect.StructType)
    fields: dict[str, Kind] = {}
    for item in info.fields:
        fields[item.encode_name] = _kind(item.type, f"{path}.{item.encode_name}".lstrip("."))
    return Group(fields, tuple(item.encode_name for item in info.fields if item.required))


def _kind(info: inspect.Type, path: str) -> Kind:
    """The kind of one field. `path` has no indexes: `recovery.backoff.first`."""
    if path in notes.WORDS:
        return _worded(info, notes.WORDS[path])
    match info:
        case inspect.Metadata():
            return _kind(info.type, path)
        case inspect.UnionType():
            present = [each for each in info.types if not isinstance(each, inspect.NoneType)]
            return _kind(present[0], path)
        case inspect.IntType() | inspect.FloatType():
            return _number(info, path)
        case inspect.StrType():
            return Text(info.pattern, info.max_length)
        case inspect.BoolType():
            return Flag()
        case inspect.EnumType():
            return Word(tuple(str(member.value) for member in info.cls))
        case inspect.VarTupleType():
            return ListOf(_kind(info.item_type, path), info.max_length)
        case inspect.DictType():
            return _map(info, path)
        case inspect.StructType():
            return _group(info, path)
        case _:
            pass
    raise TypeError(f"{path}: no kind for {info}")


def _worded(info: inspect.Type, words: tuple[str, ...]) -> Kind:
    """A field whose words are narrower than its wire type: a list of them, or one."""
    if isinstance(info, inspect.VarTupleType):
        return ListOf(Word(words), info.max_length)
    return Word(words)


def _number(info: inspect.IntType | inspect.FloatType, path: str) -> Kind:
    whole = isinstance(info, inspect.IntType)
    if path in notes.DURATIONS:
        return Duration(info.ge, info.le, whole, notes.DURATIONS[path])
    if path in notes.SIZES:
        return Size(info.ge, info.le, notes.SIZES[path])
    return Number(info.ge, info.le, whole)


def _map(info: inspect.DictType, path: str) -> MapOf:
    key = _kind(info.key_type, path)
    assert isinstance(key, Text)
    return MapOf(key, _kind(info.value_type, path), info.max_length)


def every_path(group: Group | None = None, prefix: str = "") -> tuple[str, ...]:
    """The dotted path of every field, groups included, in the order of the file; no indexes."""
    paths: list[str] = []
    for name, kind in (group or job_file()).fields.items():
        path = f"{prefix}{name}"
        paths.append(path)
        inner = kind.item if isinstance(kind, ListOf) else kind
        if isinstance(inner, Group):
            paths.extend(every_path(inner, f"{path}."))
    return tuple(paths)
