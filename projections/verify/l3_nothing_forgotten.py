"""L3: nothing is forgotten.

Judged at `JobSettled`, from what was recorded before it: every clause of settlement that a history can show. What an
opened object of a cancelled job still owes is L2's, a run that was left running without leave L1's, a call that
could still land L10's. A foreign object of a cancelled job needs no disposal once it is accounted for: the cancel
is a person's authority over all that bears the job's name. Whether an ended object can run again by itself depends
on the cluster and is not in a history. Afterwards only evidence and stops of what runs without leave may follow;
and a person's word on a message that nobody can read, without which such a stop could not be decided (L15).
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.executions import ObjectFacts
from projections.verify.facts import Facts, Stored
from streams.messages.events import CallCommitted, Event, Evidence, JobSettled, OutcomeDecided, TargetDisposed
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import MessageRef, Verb

LAW = "L3"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """What this event forgets."""
    event = stored.envelope.event
    if facts.settled and not _after_settlement(facts, event, stored.envelope.reason):
        yield f"{type(event).__name__} after the job was settled at #{facts.settled}"
        return
    if isinstance(event, OutcomeDecided):
        newest = facts.newest
        if newest is not None and event.submission != newest.submission:
            yield f"the outcome is submission {event.submission}'s, but submission {newest.submission} is authorized"
    if isinstance(event, JobSettled) and not facts.settled:
        yield from _settled(facts, event)


def _after_settlement(facts: Facts, event: Event, reason: Reason | None) -> bool:
    if isinstance(event, Evidence) or (isinstance(event, TargetDisposed) and isinstance(event.target, MessageRef)):
        return True
    if not isinstance(event, CallCommitted) or event.verb is not Verb.STOP or event.object is None:
        return False
    held = facts.objects.get(event.object)
    return reason is Reason.UNAUTHORIZED_RUN or (held is not None and held.shown)


def _settled(facts: Facts, event: JobSettled) -> Iterator[str]:
    if not (facts.cancelled or facts.outcome):
        yield "settled without an outcome"
    if event.as_of is None and facts.submitted is not None:
        yield "settled without a Find, although the job was submitted"
    for held in facts.objects.values():
        if held.counts:
            yield from _object(facts, held)
    yield from _attempts(facts)


def _object(facts: Facts, held: ObjectFacts) -> Iterator[str]:
    accounted = facts.accounted(held)
    opened = any(not call.refused for run in held.runs.values() for call in run.opens)
    others = (opened and facts.cancelled) or facts.left_running(held)
    if not accounted and not others:
        yield f"settled, but {held.name} is not known to have ended"
    if accounted:
        for run in held.unproven:
            yield f"settled, but processes of {held.name} run {run.run} are not proven gone"
    if held.foreign and held.disposition is None and not (facts.cancelled and accounted):
        yield f"settled, but nobody disposed of {held.name}, which no attempt of ours made"


def _attempts(facts: Facts) -> Iterator[str]:
    if facts.submitted is not None and facts.submitted.spec.unmatched is Unmatched.MANUAL:
        for attempt in facts.attempts:
            if attempt.unmatched:
                yield f"settled, but attempt {attempt.name} is unmatched and the job asks for a person's word"
        return
    for submission in facts.submissions:
        if submission.canonical is None and submission.attempts and all(a.unmatched for a in submission.attempts):
            yield f"settled, but every attempt of submission {submission.submission} is unknown"
