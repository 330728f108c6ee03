"""The audit view: every stored message of a job as one line, in order, nothing left out.

Reads the entries alone, and tells what they say, not what a fold made of them. People name a line by its number
in the job; messages that cannot be read stand in their place, marked `?`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from projections.known import Known
from projections.sentences import tell
from streams.messages.events import (
    CallCommitted,
    CessationSeen,
    Entry,
    Envelope,
    Evidence,
    ObjectsSeen,
    Quarantined,
    UnknownEvent,
)
from streams.messages.values import CessationBasis, Instant, Value


class Kind(StrEnum):
    """What a line is. `command`: an event that accepted one."""

    COMMAND = "command"
    DECISION = "decision"
    CALL = "call"
    EVIDENCE = "evidence"
    STRANGE = "?"


class Line(Value, frozen=True, kw_only=True):
    """One message of the job. `at` is the writer's clock; of a message that cannot be read, the store's.

    `who` is the identity the bus vouches for: of a command its actor (with the name it only claims as `~name`), of
    a Find or a word on processes its cluster, otherwise the replica that wrote it. `id` is the event's, None of `?`.
    """

    number: int
    revision: int
    at: Instant
    kind: Kind
    who: str
    sentence: str
    code: str
    id: str | None = None


def timeline(entries: Iterable[Entry]) -> tuple[Line, ...]:
    """One line an entry, oldest first. `entries` is the job's whole history, so that names and numbers are right."""
    known = Known()
    lines = []
    for number, entry in enumerate(entries, start=1):
        known.tenant, known.job = entry.tenant, entry.job
        lines.append(_line(known, number, entry))
        if isinstance(entry.content, Envelope):
            known.meet(entry.revision, entry.content.id, entry.content.event)
    return tuple(lines)


def _line(known: Known, number: int, entry: Entry) -> Line:
    content = entry.content
    if isinstance(content, Envelope):
        sentence, code = tell(known, content)
        return Line(
            number=number,
            revision=entry.revision,
            at=content.at,
            kind=_kind(content),
            who=_who(known, content),
            sentence=sentence,
            code=code,
            id=content.id,
        )
    sentence, code = _strange(content)
    return Line(
        number=number,
        revision=entry.revision,
        at=entry.stored_at,
        kind=Kind.STRANGE,
        who="?",
        sentence=sentence,
        code=code,
    )


def _strange(content: Quarantined | UnknownEvent) -> tuple[str, str]:
    if isinstance(content, Quarantined):
        return f"cannot be read: {content.why}", "quarantined"
    return f"{content.type}, version {content.v}: written by a later release than this one", "unknown-type"


def _kind(envelope: Envelope) -> Kind:
    if envelope.command is not None:
        return Kind.COMMAND
    if isinstance(envelope.event, Evidence):
        return Kind.EVIDENCE
    return Kind.CALL if isinstance(envelope.event, CallCommitted) else Kind.DECISION


def _who(known: Known, envelope: Envelope) -> str:
    if envelope.command is not None:
        claimed = f"~{envelope.on_behalf_of}" if envelope.on_behalf_of else ""
        return " ".join(name for name in (envelope.actor, claimed) if name) or "?"
    writer = envelope.by.partition(":")[2] or envelope.by
    match envelope.event:
        case ObjectsSeen(sightings=sightings, missing=missing):
            refs = [*(seen.object for seen in sightings), *missing]
            if refs:
                return refs[0].cluster
            return known.spec.cluster if known.spec is not None else writer
        case CessationSeen(object=ref, basis=basis) if basis is not CessationBasis.PRESUMED:
            return ref.cluster
        case _:
            return writer
