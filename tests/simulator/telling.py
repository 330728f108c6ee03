"""One readable line for whatever happens, for traces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streams.messages.events import Envelope
from streams.messages.values import Found
from tests.simulator.flight import ANSWERED, AppendFlight, CallFlight, Flight, TellFlight

if TYPE_CHECKING:
    from tests.simulator.world import World

_TIME = re.compile(r"datetime\.datetime\(2026, 1, 1, ([0-9, ]+?)(?:, [0-9]+)?, tzinfo=datetime\.timezone\.utc\)")
_ENUM = re.compile(r"<\w+\.\w+: '([\w-]+)'>")
_REF = re.compile(r"ObjectRef\(cluster='sim', id='([^']+)', created='0*([^']+)'\)")
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


def dump(world: World) -> str:
    """The history, the record and the ground truth, a line each."""
    lines = ["", "history"]
    for entry in world.ledger.entries:
        content = entry.content
        told = f"{content.by}: {brief(content.event)}" if isinstance(content, Envelope) else brief(content)
        lines.append(f"  r{entry.revision:<4} {told}")
    lines += ["", "record", f"  {waits_of(world)}", "", "ground truth"]
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
