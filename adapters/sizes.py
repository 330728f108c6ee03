"""How much an answer of a scheduler's host may hold, so that the event that keeps it always fits on the bus.

What is kept is not cut: an object that was left out would look absent, and half a name is another's (L9). An answer
above a bound is no answer. What is only shown to people is cut.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from adapters.errors import OutcomeUnknownError, UnreachableError
from streams.messages.calls import Cessation
from streams.messages.values import Found, ObjectRef, Sighting

TEXT_MAX = 500
NAME_MAX = 256
ANSWER_BYTES_MAX = 768 * 1024


def bounded_find(found: Found) -> Found:
    """What a Find shows, its detail cut to TEXT_MAX characters each. Raises UnreachableError above a bound."""
    detail = tuple((ref, text[:TEXT_MAX]) for ref, text in found.detail)
    found = msgspec.structs.replace(found, detail=detail)
    for ref in (*(seen.object for seen in found.sightings), *(ref for ref, _ in detail)):
        _check_names((ref.id, ref.created))
    for seen in found.sightings:
        _check_names(_nodes_of(seen))
    _check_whole(found)
    return found


def bounded_word(word: Cessation) -> Cessation:
    """The word on a run's processes. Raises UnreachableError above a bound."""
    _check_names(state.node for state in word.nodes)
    _check_whole(word)
    return word


def bounded_object(made: ObjectRef) -> ObjectRef:
    """The object that a Start made. Raises OutcomeUnknownError above a bound: it was made, and only a Find can tell."""
    if max(len(made.id), len(made.created)) > NAME_MAX:
        raise OutcomeUnknownError(f"the reply to a Start names an object in more than {NAME_MAX} characters")
    return made


def _nodes_of(seen: Sighting) -> tuple[str, ...]:
    return seen.nodes if seen.cause is None else (*seen.nodes, *seen.cause.nodes)


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if len(name) > NAME_MAX:
            raise UnreachableError(f"the answer holds a name of {len(name)} characters, the most is {NAME_MAX}")


def _check_whole(answer: Found | Cessation) -> None:
    size = len(msgspec.json.encode(answer))
    if size > ANSWER_BYTES_MAX:
        raise UnreachableError(f"the answer holds {size} bytes, the most that can be kept is {ANSWER_BYTES_MAX}")
