"""How evidence of objects changes what is recorded of them: sightings, absence, word on processes.

An older look never overwrites a newer one, except that an end, once seen for a run, stays.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from projections.record import ALIVE, ObjectRecord, Record, RunRecord
from streams.messages.events import CessationSeen, ObjectsSeen
from streams.messages.values import (
    Cause,
    CauseKind,
    CessationAnswer,
    CessationBasis,
    HoldSeen,
    ObjectRef,
    Phase,
    Sighting,
    Verb,
)


class Look(NamedTuple):
    """One Find as its evidence tells it: host's clock, revision read before it, and where it is recorded."""

    as_of: datetime
    read_revision: int
    revision: int
    at: datetime


def put_run(held: ObjectRecord, run: RunRecord) -> ObjectRecord:
    """The object with this run's record in place, runs in order."""
    others = [r for r in held.runs if r.run != run.run]
    return replace(held, runs=tuple(sorted([*others, run], key=lambda r: r.run)))


def _end_cause(known: Cause | None, seen: Cause | None) -> Cause | None:
    """A cause is refined once, while accounting had not answered; after that it stays."""
    if known is None or (not known.final and seen is not None):
        return seen or known
    return known


def _run_after(record: Record, run: RunRecord, seen: Sighting, look: Look) -> RunRecord:
    begins = seen.phase in (Phase.RUNNING, Phase.ENDING)
    begun = run.begun or begins or (seen.phase is Phase.ENDED and bool(seen.nodes))
    if run.word_as_of is not None and look.as_of > run.word_as_of and _takes_back(run, seen):
        run = run.unspoken
    nodes = tuple(sorted({*run.nodes, *seen.nodes})) if seen.nodes else run.nodes
    run = replace(run, begun=begun, nodes=nodes)
    if begins and run.started_as_of is None:
        run = replace(run, started_as_of=look.as_of, started_at=look.at)
    if seen.phase is Phase.ENDING and seen.cause is not None and run.cause is None:
        # It may come back to its gate without ever being shown ended.
        run = replace(run, cause=replace(seen.cause, final=False))
    if seen.phase is Phase.ENDED:
        cause = _end_cause(run.cause, seen.cause)
        ended_as_of = run.ended_as_of or look.as_of
        run = replace(run, ended=True, cause=cause, ended_as_of=ended_as_of, ended_at=run.ended_at or look.at)
    elif seen.phase is Phase.GATED and run.started_as_of is not None and not run.ended:
        # Back at its gate under the same number: that execution is over, its processes are still to be proven gone.
        cause = replace(run.cause or _untold(record, seen.object, run.run), final=True)
        run = replace(run, ended=True, cause=cause, ended_as_of=look.as_of, ended_at=look.at)
    return run


def _takes_back(run: RunRecord, seen: Sighting) -> bool:
    """Whether a look newer than the word on the run's processes shows more of it than that word covered."""
    if seen.phase is Phase.ENDED:
        elsewhere = not set(seen.nodes) <= set(run.nodes)
        return elsewhere or (not run.ended and run.started_as_of is None)
    return seen.phase is not Phase.GATED


def _untold(record: Record, ref: ObjectRef, run: int) -> Cause:
    """The cause of an end that no Find showed: our own call, where one that ends this run was answered done."""
    ours = [c for c in record.calls_on(ref, Verb.REQUEUE, Verb.HOLD) if c.run == run and c.done]
    if not ours:
        return Cause(kind=CauseKind.UNKNOWN)
    return Cause(kind=CauseKind.STOPPED, raw={"by": ours[-1].verb.value})


def _end_earlier(record: Record, held: ObjectRecord, seen: Sighting, look: Look) -> ObjectRecord:
    """A higher run number ends every earlier run; their processes are still to be proven gone."""
    failed = seen.hold is HoldSeen.LAUNCH_FAILED
    for earlier in held.runs:
        if earlier.run < seen.run and not earlier.ended:
            untold = Cause(kind=CauseKind.LAUNCH_FAILED) if failed else _untold(record, held.ref, earlier.run)
            cause = replace(earlier.cause or untold, final=True)
            held = put_run(held, replace(earlier, ended=True, cause=cause, ended_as_of=look.as_of, ended_at=look.at))
    return held


def _end_stands(record: Record, ref: ObjectRef, look: Look) -> bool:
    """Whether an end in this Find counts: no requeue of the object could land after the Find began."""
    requeues = record.calls_on(ref, Verb.REQUEUE)
    return all(c.over_before(look.as_of, look.read_revision) for c in requeues)


def see(record: Record, seen: Sighting, look: Look) -> ObjectRecord:
    """What is recorded of an object after this sighting of it."""
    held = record.objects.get(seen.object)
    if held is None:
        attempt = record.attempt_of(seen.tag)
        held = ObjectRecord(
            ref=seen.object,
            tag=seen.tag,
            submission=attempt.submission if attempt else None,
            attempt=attempt.attempt if attempt else None,
            first_revision=look.revision,
        )
    run = _run_after(record, held.run_record(seen.run) or RunRecord(run=seen.run), seen, look)
    if held.as_of is not None and (look.as_of < held.as_of or (seen.run < held.run and held.phase is not Phase.GATED)):
        # An older look: only an end is news.
        return put_run(held, run) if seen.phase is Phase.ENDED and held.run_record(seen.run) != run else held
    was_ended = held.run_record(seen.run)
    again = was_ended is not None and was_ended.ended and seen.phase in (Phase.RUNNING, Phase.QUEUED)
    if again and not (held.alive_again and held.run == seen.run):
        run = replace(run.unspoken, again_as_of=look.as_of)
    held = _end_earlier(record, put_run(held, run), seen, look)
    changed = held.phase is not seen.phase or held.run != seen.run
    return replace(
        held,
        tag=held.tag or seen.tag,
        phase=seen.phase,
        hold=seen.hold,
        run=seen.run,
        cause=run.cause if seen.phase is Phase.ENDED else seen.cause,
        end_final=seen.end_final,
        ranks_done=seen.ranks_done,
        nodes=seen.nodes,
        as_of=look.as_of,
        seen_revision=look.revision,
        read_revision=look.read_revision,
        since=look.at if changed else held.since,
        ended=seen.phase is Phase.ENDED and _end_stands(record, seen.object, look),
        missing=False,
        missing_at=None,
        verified=None if seen.phase in ALIVE else held.verified,
        disposition=None if held.disposed_gone and seen.phase in ALIVE else held.disposition,
        alive_again=(held.alive_again and seen.phase is not Phase.ENDED and held.run == seen.run) or again,
    )


def miss(held: ObjectRecord, at: datetime) -> ObjectRecord:
    """What is recorded of an object that a complete Find did not show.

    One that was queued may have begun before it vanished, whoever lifted its gate: its processes are to be proven gone.
    """
    if held.phase is Phase.QUEUED:
        run = held.run_record(held.run) or RunRecord(run=held.run)
        held = held if run.begun else put_run(held, replace(run, begun=True))
    return replace(held, missing=True, missing_at=held.missing_at or at)


def look_of(event: ObjectsSeen, revision: int, at: datetime) -> Look:
    return Look(event.as_of, event.read_revision, revision, at)


def cease(held: ObjectRecord, event: CessationSeen) -> ObjectRecord:
    """What is recorded of one run's processes after this word on them.

    An operator's word covers only the nodes named; a run is proven gone when each of its nodes is. A word from before
    the run was seen alive again is of an earlier execution, and changes nothing.
    """
    run = held.run_record(event.run) or RunRecord(run=event.run, begun=True)
    if run.again_as_of is not None and event.as_of <= run.again_as_of:
        return held
    if event.basis is CessationBasis.OPERATOR:
        attested = tuple(sorted({*run.attested, *(n.node for n in event.nodes)}))
        run = replace(run, attested=attested, attested_by=event.attested_by or run.attested_by)
        whole = event.answer is CessationAnswer.CEASED and not event.nodes
        if whole:
            run = replace(run, answer=event.answer, basis=event.basis)
    else:
        run = replace(run, answer=event.answer, basis=event.basis, node_states=event.nodes)
    return put_run(held, replace(run, proven=run.proven or _gone(run), word_as_of=event.as_of))


def waiting_nodes(run: RunRecord) -> tuple[str, ...]:
    """Nodes of the run where, as last heard, processes may live and no person has vouched."""
    if run.proven or run.answer is CessationAnswer.CEASED:
        return ()
    named = {n.node for n in run.node_states if n.may_run}
    return tuple(sorted((named or set(run.nodes)) - set(run.attested)))


def _gone(run: RunRecord) -> bool:
    if run.answer is CessationAnswer.CEASED:
        return True
    return bool(run.attested) and not waiting_nodes(run)
