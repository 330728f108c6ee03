"""L6: evidence is never refused, and an older look never overwrites a newer one, except that an end stays.

A refused append leaves no trace. What a history shows is a decision that believed the wrong look: it names a run
that a newer one has followed, begins a run that was seen ended because an older look came in later, or gives a
cause that only such an older look had; and a Find that claims to have read what was not yet there.
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.executions import BEGINS, ObjectFacts
from projections.verify.facts import Facts, Stored
from streams.messages.events import (
    CallCommitted,
    ObjectsSeen,
    OutcomeDecided,
    RequeueAuthorized,
    SubmissionAuthorized,
)
from streams.messages.values import Cause, ObjectRef, Phase, Verb

LAW = "L6"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """Whether this event rests on the newest evidence."""
    match stored.envelope.event:
        case ObjectsSeen(read_revision=read) if read > stored.envelope.expected:
            yield f"a Find says that r{read} was read before it, but its writer had folded r{stored.envelope.expected}"
        case CallCommitted(verb=verb, object=ref, run=run) if verb in (*BEGINS, Verb.REQUEUE) and run is not None:
            yield from _run(facts, ref, run, verb.value)
            if verb in BEGINS:
                yield from _ended(facts, ref, run)
        case RequeueAuthorized(object=ref, run=run, cause=cause):
            yield from _run(facts, ref, run + _at_gate(facts, ref), "requeue")
            yield from _cause(facts.objects.get(ref), cause)
        case SubmissionAuthorized(submission=number, cause=cause):
            yield from _cause(_canonical(facts, number - 1), cause)
        case OutcomeDecided(submission=number, cause=cause):
            yield from _cause(_canonical(facts, number), cause)
        case _:
            pass


def _run(facts: Facts, ref: ObjectRef | None, run: int, what: str) -> Iterator[str]:
    held = facts.objects.get(ref) if ref is not None else None
    if held is not None and run < held.run:
        yield f"{what} of {held.name} run {run}, but run {held.run} of it has been seen"


def _at_gate(facts: Facts, ref: ObjectRef) -> int:
    """At its gate an object shows the number of its next run: what ended, and may be answered, is the one before."""
    held = facts.objects.get(ref)
    return int(held is not None and held.phase is Phase.GATED)


def _ended(facts: Facts, ref: ObjectRef | None, run: int) -> Iterator[str]:
    held = facts.objects.get(ref) if ref is not None else None
    if held is None or run != held.run or not held.stale_number:
        return
    if held.of_run(run).ended:
        yield f"begins run {run} of {held.name}, which was seen ended; #{held.stale_number} is an older look"


def _canonical(facts: Facts, number: int) -> ObjectFacts | None:
    submission = facts.submission(number)
    if submission is None or submission.canonical is None:
        return None
    return facts.objects.get(submission.canonical)


def _cause(held: ObjectFacts | None, cause: Cause | None) -> Iterator[str]:
    run = held.runs.get(held.run) if held is not None else None
    if held is None or run is None or cause is None:
        return
    told = _essence(cause)
    if told in map(_essence, run.stale_causes) and told not in map(_essence, run.causes):
        yield f"says {cause.kind.value}, which only an older look at {held.name} had"


def _essence(cause: Cause) -> tuple[str, int | None, int | None]:
    return (cause.kind.value, cause.exit_code, cause.signal)
