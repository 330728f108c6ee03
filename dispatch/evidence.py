"""What a Find and the adapter's words on processes change in the record: evidence, only when it is news (R21).

Pure. Whether the history has gone backwards is judged in `projections.regression` (L14).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from projections import intents, sightings
from projections.record import ObjectRecord, Record, RunRecord
from projections.sightings import Look
from streams.messages.calls import Capabilities, Cessation
from streams.messages.events import CessationSeen, ObjectsSeen, SeenEvent
from streams.messages.values import (
    CessationAnswer,
    CessationBasis,
    Found,
    NodeState,
    ObjectRef,
    Phase,
    Sighting,
    Verb,
)

ON = (Phase.QUEUED, Phase.RUNNING, Phase.ENDING, Phase.UNCLEAR)

Builder = Callable[[Record], SeenEvent | None]


def objects_seen(record: Record, found: Found, read_revision: int, now: datetime) -> ObjectsSeen | None:
    """The event that this Find is worth, or None if it would change nothing but the time of looking."""
    look = Look(found.as_of, read_revision, record.revision, now)
    changed = tuple(s for s in found.sightings if _is_news(record, s, look))
    shown = {s.object for s in found.sightings}
    missing = tuple(ref for ref, held in record.objects.items() if ref not in shown and _misses(held, look))
    if changed or missing:
        return ObjectsSeen(as_of=found.as_of, read_revision=read_revision, sightings=changed, missing=missing)
    if intents.after_find(record, look, record.number + 1) == record:
        return None
    return ObjectsSeen(as_of=found.as_of, read_revision=read_revision)


def _misses(held: ObjectRecord, look: Look) -> bool:
    """Whether its absence is news: it was known before this Find began."""
    newer = held.as_of is None or held.as_of <= look.as_of
    return newer and held.first_revision <= look.read_revision and not held.missing and not held.accounted


def _is_news(record: Record, seen: Sighting, look: Look) -> bool:
    held = record.objects.get(seen.object)
    if held is None:
        return True
    after = sightings.see(record, seen, look)
    if after is held:
        return False
    same_look = replace(
        after,
        as_of=held.as_of,
        seen_revision=held.seen_revision,
        read_revision=held.read_revision,
        since=held.since,
    )
    return held.as_of is None or same_look != held


def runs_to_prove(record: Record, found: Found, read_revision: int) -> tuple[tuple[ObjectRef, int], ...]:
    """Runs whose processes still have to be proven gone: those that are over, and those of objects not shown.

    An ended object's every run is over, also one that it was opened for and never began. A run that this Find shows
    on is not asked about, nor one of an absent object that a call on its way may still begin.
    """
    shown = {s.object: s for s in found.sightings}
    look = Look(found.as_of, read_revision, record.revision, found.as_of)
    return tuple(
        (held.ref, run.run)
        for held in record.objects.values()
        if not held.ignored
        for run in held.unproven
        if _to_prove(record, held, run, shown.get(held.ref), look)
    )


def _to_prove(record: Record, held: ObjectRecord, run: RunRecord, seen: Sighting | None, look: Look) -> bool:
    over = run.ended or held.ended
    if seen is not None:
        return over and not (seen.run == run.run and seen.phase in ON)
    calls = record.calls_on(held.ref, Verb.OPEN, Verb.ADMIT, Verb.RELEASE)
    return over or (held.missing and all(c.over_before(look.as_of, look.read_revision) for c in calls))


def cessation_seen(
    record: Record, ref: ObjectRef, run: int, word: Cessation, capabilities: Capabilities
) -> CessationSeen | None:
    """The event that this word on one run's processes is worth, or None if it says nothing new."""
    held = record.objects.get(ref)
    known = held.run_record(run) if held else None
    if held is None or known is None or known.proven:
        return None
    answer, basis = word.answer, word.basis
    if answer is CessationAnswer.MAY_RUN and _presumed(known, word, capabilities):
        answer, basis = CessationAnswer.CEASED, CessationBasis.PRESUMED
    if (answer, basis, _places(word.nodes)) == (known.answer, known.basis, _places(known.node_states)):
        return None
    return CessationSeen(
        object=ref,
        run=run,
        answer=answer,
        basis=basis,
        nodes=word.nodes,
        as_of=word.as_of,
        attested_by=word.attested_by,
    )


def _places(nodes: tuple[NodeState, ...]) -> frozenset[tuple[str, bool]]:
    """Each node and whether anything may run there: how many processes, or what the node calls itself, is no news."""
    return frozenset((n.node, bool(n.may_run)) for n in nodes)


def _presumed(run: RunRecord, word: Cessation, capabilities: Capabilities) -> bool:
    after = capabilities.presume_after_s
    if after is None or run.ended_as_of is None:
        return False
    return word.as_of - (run.again_as_of or run.ended_as_of) >= timedelta(seconds=after)


def presumed_gone(record: Record, ref: ObjectRef, run: int, found: Found) -> Cessation | None:
    """The word of a cluster that cannot tell: presumed gone once the end was seen; of what is absent, none (L9)."""
    held = record.objects.get(ref)
    known = held.run_record(run) if held else None
    if held is None or known is None or not (known.ended or held.ended):
        return None
    return Cessation(answer=CessationAnswer.CEASED, basis=CessationBasis.PRESUMED, as_of=found.as_of)
