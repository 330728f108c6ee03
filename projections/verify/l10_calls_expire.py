"""L10: a late call never undoes a newer decision.

Judged: every call has a bound at or after its deadline; and no decision relies on a call being over that has no
clear reply and whose bound the host's clock, as told by the Find the decision was made from, has not passed: the
settlement, the last stop by name, a new hold, a release, an attempt given up. That an open waits for requeues is
L4's. Whether a requeue must wait for opens depends on the cluster (fenced calls) and is not in a history.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from projections.verify.facts import Facts, Stored
from streams.messages.events import AttemptCommitted, CallCommitted, JobSettled, TargetDisposed
from streams.messages.values import AttemptRef, ReplyOutcome, Verb

LAW = "L10"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """Which call could still land behind this event."""
    match stored.envelope.event:
        case AttemptCommitted() as event:
            yield from _bound(event.call, event.deadline_at, event.over_at)
        case CallCommitted() as event:
            yield from _bound(event.call, event.deadline_at, event.over_at)
            yield from _call(facts, event)
        case JobSettled(as_of=as_of) if as_of is not None and not facts.settled:
            found = [a.start for a in facts.attempts if a.objects]
            for call in facts.calls.values():
                if not call.over(as_of) and call not in found:
                    yield f"settled while {call.what} may still land"
        case TargetDisposed(target=AttemptRef() as named, rule="unmatched", as_of=as_of):
            attempt = facts.attempt(named.submission, named.attempt)
            if attempt is not None and not attempt.objects and not attempt.start.over(as_of):
                yield f"attempt {attempt.name} was given up while its Start may still land"
        case _:
            pass


def _bound(call: int, deadline_at: datetime, over_at: datetime) -> Iterator[str]:
    if over_at < deadline_at:
        yield f"call {call} is said to be over before its deadline"


def _call(facts: Facts, event: CallCommitted) -> Iterator[str]:
    if event.verb is Verb.STOP_JOB:
        stops = [call for call in facts.calls.values() if call.verb is Verb.STOP_JOB]
        if any(call.reply is ReplyOutcome.DONE for call in stops):
            for call in facts.may_land(event.as_of):
                yield f"the last stop by name was committed while {call.what} may still land"
    elif event.verb is Verb.HOLD and event.object is not None:
        for call in facts.calls_on(event.object, Verb.HOLD, Verb.RELEASE):
            if not call.over(event.as_of) and set(event.instances) - call.instances:
                yield f"hold {', '.join(event.instances)} was committed while {call.what} may still land"
    elif event.verb is Verb.RELEASE and facts.in_force:
        yield f"call {event.call} (release) committed while hold {', '.join(sorted(facts.in_force))} is in force"
