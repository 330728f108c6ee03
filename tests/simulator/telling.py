"""One readable line for whatever happens, for traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from projections.record import Record
from streams.messages.events import Envelope
from streams.messages.values import Found, ObjectRef
from tests.simulator.flight import ANSWERED, AppendFlight, CallFlight, Flight, TellFlight

if TYPE_CHECKING:
    from tests.simulator.world import World

_TIME = re.compile(r"datetime\.datetime\(2026, 1, 1, ([0-9, ]+?)(?:, [0-9]+)?, tzinfo=datetime\.timezone\.utc\)")
_ENUM = re.compile(r"<\w+\.\w+: '([\w-]+)'>")
_REF = re.compile(r"ObjectRef\(cluster='sim', id='([^']+)', created='0*([^']+)'\)")
_ID = re.compile(r"'0{9,}([0-9]+)'")
_EMPTY = re.compile(r",? ?\w+=(?:None|\(\)|\{\}|'')")


def describe(flight: Flight) -> str:
    """One flight in a few words."""
    match flight:
        case AppendFlight():
            why = f" ({flight.envelope.reason.value})" if flight.envelope.reason else ""
            at = f" -> r{flight.answer}" if flight.stage == ANSWERED and flight.error is None else ""
            return f"append {brief(flight.envelope.event)}{why} after r{flight.envelope.expected}{at}{_error(flight)}"
        case CallFlight():
            number = f" #{flight.request.call.call}" if flight.request.call else ""
            stage = ("leaving", "arrived", "landed", "dead")[flight.stage]
            shown = f" -> {brief(flight.answer)}" if flight.answer is not None else ""
            if flight.request.verb == "capabilities":
                shown = ""
            return f"{flight.request.verb}{number} {stage}{shown}{_error(flight)}"
        case TellFlight():
            return f"{flight.what}{_error(flight)}"
        case _:
            return f"read after r{getattr(flight, 'after', 0)}{_error(flight)}"


def _error(flight: Flight) -> str:
    return f" ! {type(flight.error).__name__}: {flight.error}" if flight.error is not None else ""


def brief(value: object) -> str:
    """A message without what the eye does not need."""
    if isinstance(value, Found):
        seen = [
            f"{s.object.id} run {s.run} {s.phase.value}{'' if s.hold.value == 'none' else ' hold ' + s.hold.value}"
            for s in value.sightings
        ]
        floor = f" floor r{value.floor.revision}" if value.floor else ""
        return f"[{'; '.join(seen)}] as of {value.as_of:%H:%M:%S}{floor}"
    text = _TIME.sub(lambda found: ":".join(found[1].split(", ")), str(value))
    return _EMPTY.sub("", _REF.sub(r"\1~\2", _ENUM.sub(r"\1", text)))


def of_record(record: Record) -> Iterator[str]:
    """The record whole, in the order of its fields, a line each for what it holds many of; nothing of what is empty."""
    for field in fields(record):
        value = getattr(record, field.name)
        if _untold(value, field):
            continue
        many = isinstance(value, dict | tuple) and any(isinstance(v, Struct) for v in _members(value))
        if not many:
            yield f"{field.name}: {_plain(value)}"
            continue
        yield f"{field.name}:"
        keys = list(value) if isinstance(value, dict) else range(1, len(value) + 1)
        for key, item in zip(keys, _members(value), strict=True):
            yield f"  {brief(key)}: {_plain(item)}"


def _members(value: dict[Any, Any] | tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.values()) if isinstance(value, dict) else value


def _plain(value: object) -> str:
    return _ID.sub(r"\1", brief(_short(value)))


def _untold(value: object, field: FieldInfo) -> bool:
    """Whether there is nothing to say of it. An empty collection says nothing, whatever a field begins with."""
    return value in (None, "", (), {}, frozenset()) or (value == field.default and value is not True)


def _short(value: object) -> str:
    """A value with those fields only that differ from what they begin with."""
    match value:
        case ObjectRef():
            return str(value)
        case Struct():
            told = [(f, getattr(value, f.name)) for f in fields(value)]
            shown = [f"{f.name}={_short(v)}" for f, v in told if not _untold(v, f)]
            return f"{type(value).__name__}({', '.join(shown)})"
        case dict():
            return ", ".join(f"{key}: {_short(item)}" for key, item in value.items())
        case tuple():
            return f"({', '.join(_short(item) for item in value)})"
        case frozenset():
            return ", ".join(repr(item) for item in sorted(value))
        case _:
            return repr(value)


def dump(world: World) -> str:
    """The history, the record and the ground truth, a line each."""
    lines = ["", "history"]
    for entry in world.ledger.entries:
        content = entry.content
        told = f"{content.by}: {brief(content.event)}" if isinstance(content, Envelope) else brief(content)
        lines.append(f"  r{entry.revision:<4} {told}")
    lines += ["", "record", *(f"  {line}" for line in of_record(world.watch.record)), f"  {waits_of(world)}"]
    lines += ["", "ground truth"]
    for job in world.cluster.jobs:
        lines.append(f"  {job.ref.id}~{job.ref.created.lstrip('0')} {job.phase.value} hidden: {job.hidden}")
    for execution in world.cluster.truth.executions:
        alive = f"alive on {', '.join(execution.alive)}" if execution.alive else "gone"
        lines.append(f"  {execution.object.id} run {execution.run} begun by {execution.lift.by.value}: {alive}")
    return "\n".join(lines)


def waits_of(world: World) -> str:
    """What is recorded of each object, and what is wanted."""
    record = world.watch.record
    told = [f"wanted {record.wanted}", f"settled {record.settled}"]
    for held in record.objects.values():
        unproven = [(run.run, run.answer, run.nodes) for run in held.unproven]
        marks = [name for name in ("ended", "missing", "retired", "alive_again", "end_final") if getattr(held, name)]
        told.append(f"{held.ref.id} {held.phase.value} run {held.run} {marks} {held.disposition} unproven {unproven}")
    return " | ".join(told)
