"""L1: nothing runs that the record does not authorize.

Judged: what may be authorized, attempted, chosen and opened, and that a run of one of our
objects without a committed open is stopped. The last is judged only where the history goes on long enough: it was
settled, or decisions from `FINDS_TO_STOP` later Finds were made, while that run was still alive and no stop was
committed. A hold may lie on the object beside its gate; a history does not say where it can, so an open under a
hold is broken only if no call ever set out to place that hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.executions import BEGINS, ObjectFacts
from projections.verify.facts import Facts, Stored
from streams.messages.events import (
    AttemptCommitted,
    CallCommitted,
    CanonicalChosen,
    RequeueAuthorized,
    SubmissionAuthorized,
)
from streams.messages.values import Disposition, Phase, Verb

LAW = "L1"
FINDS_TO_STOP = 5
SUBMIT, PERSON = "submit", "person"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """What this event authorizes without leave."""
    match stored.envelope.event:
        case SubmissionAuthorized() as event:
            yield from _submission(facts, event)
        case RequeueAuthorized() as event:
            yield from _wanted(facts, f"requeue of {event.object.id} authorized")
            yield from _requeue(facts, event)
        case AttemptCommitted() as event:
            yield from _attempt(facts, event)
        case CanonicalChosen(submission=number):
            submission = facts.submission(number)
            if submission is not None and facts.closed(submission):
                yield f"an object of submission {number} was chosen, which is given up"
        case CallCommitted(verb=verb) as event if verb in BEGINS:
            yield from _open(facts, event)
        case CallCommitted(verb=Verb.REQUEUE) as event:
            yield from _wanted(facts, f"call {event.call} (requeue) committed")
            if not any((r.object, r.run) == (event.object, event.run) for r in facts.requeues):
                yield f"requeue of {_name(event)} run {event.run} committed, which nobody authorized"
        case CallCommitted(verb=Verb.STOP) as event:
            yield from _stop(facts, event)
        case _:
            pass


def at_end(facts: Facts) -> Iterator[tuple[int, int, str]]:
    """Number, revision and sentence of each run without leave that was seen and never stopped."""
    for held in facts.objects.values():
        run = facts.left_running(held)
        if run is None or held.look is None:
            continue
        seen_at, number = held.look.as_of, held.look.number
        later = {as_of for decided, as_of in facts.decided_from if decided > number and as_of > seen_at}
        if facts.settled > number or len(later) >= FINDS_TO_STOP:
            yield (
                run.unauthorized_number,
                run.unauthorized_revision,
                f"{held.name} run {run.run} ran without a committed open and no stop of it followed",
            )


def _wanted(facts: Facts, what: str) -> Iterator[str]:
    """A cancel's own finality is L2's."""
    if facts.outcome and not facts.cancelled:
        yield f"{what} after the outcome of #{facts.outcome}"


def _submission(facts: Facts, event: SubmissionAuthorized) -> Iterator[str]:
    what = f"submission {event.submission} authorized"
    yield from _wanted(facts, what)
    if facts.submitted is None:
        if not facts.cancelled:
            yield f"{what} for a job that was never submitted"
        return
    newest = facts.newest
    if event.submission != (newest.submission if newest else 0) + 1:
        yield f"{what}, but the newest is {newest.submission if newest else 'none'}"
    rules = {PERSON, *(rule.name for rule in facts.submitted.plan.rules)}
    if event.rule not in rules and (event.rule != SUBMIT or event.submission != 1):
        yield f"{what} by rule {event.rule!r}, which the plan does not have"


def _requeue(facts: Facts, event: RequeueAuthorized) -> Iterator[str]:
    held = facts.objects.get(event.object)
    newest = facts.newest
    if newest is None or newest.canonical != event.object:
        yield f"requeue of {event.object.id} authorized, which is not canonical of the newest submission"
    elif held is not None and held.retired:
        yield f"requeue of {held.name} authorized, which is retired"
    elif held is not None and held.end_final and held.phase is Phase.ENDED:
        yield f"requeue of {held.name} authorized, whose end is final"


def _attempt(facts: Facts, event: AttemptCommitted) -> Iterator[str]:
    what = f"attempt {event.submission}/{event.attempt} committed"
    yield from _wanted(facts, what)
    submission = facts.submission(event.submission)
    if submission is None:
        yield f"{what}, but submission {event.submission} was never authorized"
    elif submission is not facts.newest:
        yield f"{what}, but submission {len(facts.submissions)} is the newest"
    elif facts.closed(submission):
        yield f"{what}, but submission {event.submission} is given up"


def _open(facts: Facts, event: CallCommitted) -> Iterator[str]:
    what = f"{event.verb.value} of {_name(event)} committed"
    yield from _wanted(facts, what)
    held = facts.objects.get(event.object) if event.object is not None else None
    if held is None or not facts.is_canonical(held.ref):
        yield f"{what}, which is not canonical"
        return
    if held.retired:
        yield f"{what}, which is retired"
    newest = facts.newest
    if newest is not None and newest.canonical != held.ref:
        yield f"{what}, but submission {newest.submission} is the newest"
    if event.run is not None:
        yield from _gate(facts, event, held)


def _gate(facts: Facts, event: CallCommitted, held: ObjectFacts) -> Iterator[str]:
    what = f"{event.verb.value} of {held.name} run {event.run} committed"
    for other in facts.objects.values():
        if other is held or other.submission != held.submission or other.retired:
            continue
        if other.disposition not in (Disposition.IGNORE, Disposition.GONE):
            yield f"{what}, but {other.name} of the same submission is not retired"
    if facts.in_force and event.verb is not Verb.RELEASE and not _hold_placed(facts, held):
        yield f"{what} while hold {', '.join(sorted(facts.in_force))} is in force"
    running = facts.unauthorized(held)
    if running is not None and running.run == event.run:
        yield f"{what}, which already ran without leave since #{running.unauthorized_number}"
    if held.phase is Phase.ENDED and not held.stale_number and not _requeued_since(facts, held):
        yield f"{what}, but {held.name} has ended and no requeue of it was committed"


def _hold_placed(facts: Facts, held: ObjectFacts) -> bool:
    return any(not call.refused and call.instances & facts.in_force for call in facts.calls_on(held.ref, Verb.HOLD))


def _requeued_since(facts: Facts, held: ObjectFacts) -> bool:
    seen = held.look.revision if held.look else 0
    return any(not call.refused and call.revision > seen for call in facts.calls_on(held.ref, Verb.REQUEUE))


def _stop(facts: Facts, event: CallCommitted) -> Iterator[str]:
    held = facts.objects.get(event.object) if event.object is not None else None
    if held is None or not held.foreign or held.disposition is Disposition.STOP:
        return
    if not (facts.cancelled or facts.outcome):
        yield f"stop of {held.name} committed, which is foreign and which no person said to stop"


def _name(event: CallCommitted) -> str:
    return event.object.id if event.object is not None else "no object"
