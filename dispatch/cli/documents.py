"""Values as JSON for programs: RFC 3339 times in UTC with milliseconds, absent is null, lists are lists when empty."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import datetime
from enum import Enum

import msgspec

from dispatch.cli.times import wire_time
from dispatch.identity import now


def stamp() -> str:
    """Now, as a document says when it was made."""
    return wire_time(now())


def plain(value: object) -> object:
    """The value made of what JSON has. Every field is there, whether or not it is at its default."""
    match value:
        case None | bool() | int():
            return value
        case Enum():
            return value.value
        case str():
            return value
        case float():
            return round(value, 3) if math.isfinite(value) else None
        case datetime():
            return wire_time(value)
        case Mapping():
            return {str(plain(key)): plain(item) for key, item in value.items()}
        case msgspec.Struct():
            names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
            return {wire: plain(getattr(value, name)) for name, wire in names}
        case _ if dataclasses.is_dataclass(value):
            return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case tuple() if hasattr(value, "_fields"):
            return {name: plain(getattr(value, name)) for name in value._fields}
        case list() | tuple() | set() | frozenset():
            items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            return [plain(item) for item in items]
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a document")
