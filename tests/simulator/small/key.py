"""What makes two states of a small world the same: equal text here, equal future.

The text holds the history, the cluster's ground truth, what each coroutine was answered since it began (and the
revision its process began from), what is still on its way and what may still happen. Three things are named by their
place and not by their value, so that the way to a state leaves no trace in it:

- an event's id by its revision, or, where it is not stored, by where it is first met;
- an instant by its whole second and its rank among the others of that second: steps take a microsecond, everything
  that is compared across seconds lies whole seconds apart;
- a supervisor by nothing: the two are alike, and their texts are sorted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from adapters.simulated.host import Request
from adapters.simulated.truth import Lift
from streams.messages.events import Envelope
from tests.simulator.flight import AppendFlight, CallFlight, Flight, ReadFlight

if TYPE_CHECKING:
    from tests.simulator.small.world import SmallWorld

# What only says when something was, what a cache holds, and ways back to what was already told.
UNTOLD = {"shown", "since", "spec", "name", "job", "began_at", "ended_at", "tag"}
_ID = re.compile(r"\b\d{26}\b")
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z")
_json = msgspec.json.Encoder(enc_hook=str).encode


def told(value: Any) -> str:
    """Any value of the world as text; instants as the wire writes them."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, msgspec.Struct | datetime):
        return _json(value).decode()
    if isinstance(value, dict):
        return "{" + ",".join(f"{told(k)}:{told(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(told, value)) + "]"
    if isinstance(value, Lift):
        return f"{value.by.value}#{value.call.call if value.call else ''}"
    slots = getattr(type(value), "__slots__", None)
    if slots is None:
        return repr(value)
    return "(" + ",".join(f"{name}={told(getattr(value, name))}" for name in slots if name not in UNTOLD) + ")"


def answer_of(flight: Flight, answer: object, error: BaseException | None) -> str:
    """What a coroutine was told, as far as it can tell one answer from another."""
    if error is not None:
        return f"{type(error).__name__} {error}"
    if isinstance(flight, ReadFlight):
        entries: Any = answer
        return f"{flight.after}-{entries[-1].revision if entries else ''}"
    return told(answer)


def flight_of(flight: Flight) -> str:
    """A flight on its way, its caller gone or not."""
    if isinstance(flight, AppendFlight):
        return f"append {flight.stage} {told(flight.envelope)}"
    if isinstance(flight, CallFlight):
        call = flight.request.call
        return f"{flight.request.verb} {flight.stage} {told(call)} {_expires(flight.request)}"
    return f"{flight.kind} {flight.stage}"


def _expires(request: Request[Any]) -> str:
    return f"{request.can_land} {request.might_land}"


def _history(world: SmallWorld) -> str:
    lines = []
    for entry in world.ledger.entries:
        content = entry.content
        assert isinstance(content, Envelope)
        lines.append(f"{content.reason} {content.command} {content.at:%H:%M:%S} {told(content.event)}")
    return "\n".join(lines)


def _cluster(world: SmallWorld) -> str:
    cluster = world.cluster
    floors = [told(bearers.floor) for bearers in cluster.names.values()]
    called = [getattr(bearers, "called", None) for bearers in cluster.names.values()]
    living = [f"{e.object.id}.{e.run} {told(e.alive)}" for e in cluster.truth.living]
    return "\n".join([*map(told, cluster.jobs), *floors, told(called), *living])


def _process(world: SmallWorld, number: int) -> str:
    process = world.processes[number]
    tasks = []
    for task in process.tasks:
        flight = task.flight
        assert flight is not None
        tasks.append(f"{task.what} {' | '.join(world.answers[task])} :: {flight.kind} {flight.stage} {_way(flight)}")
    return f"held r{process.held.revision}\n" + "\n".join(sorted(tasks))


def _way(flight: Flight) -> str:
    """What the coroutine sent follows from what it was told; what became of it on its way does not."""
    if not isinstance(flight, CallFlight) or flight.request.call is None:
        return ""
    return f"{flight.request.call.pair.revision} {_expires(flight.request)}"


def text_of(world: SmallWorld) -> str:
    """The whole state, its names not yet made its own."""
    ended = sorted(told(ref) for ref in world.watch.ended_once)
    return "\n\n".join(
        [
            _history(world),
            _cluster(world),
            *sorted(_process(world, number) for number in range(len(world.processes))),
            "\n".join(sorted(map(flight_of, world.orphans))),
            f"{world.now:%H:%M:%S} {world.left} {[waiting.in_hand for waiting in world.operators.queue]} {ended}",
        ]
    )


def _ids(world: SmallWorld) -> Callable[[re.Match[str]], str]:
    names = {
        entry.content.id: f"r{entry.revision}" for entry in world.ledger.entries if isinstance(entry.content, Envelope)
    }
    return lambda found: names.setdefault(found[0], f"new{len(names)}")


def _instants(text: str) -> Callable[[re.Match[str]], str]:
    ranks: dict[str, list[str]] = {}
    for second, part in sorted(set(_INSTANT.findall(text)), key=lambda found: (found[0], f"{found[1]:0<6}")):
        ranks.setdefault(second, []).append(part or "")
    places = {(second, part): place for second, parts in ranks.items() for place, part in enumerate(parts)}
    return lambda found: f"{found[1]}+{places[found[1], found[2] or '']}"


def key_of(world: SmallWorld) -> bytes:
    """Equal for states that have equal futures."""
    text = text_of(world)
    text = _INSTANT.sub(_instants(text), text)
    text = _ID.sub(_ids(world), text)
    return blake2b(text.encode(), digest_size=16).digest()
