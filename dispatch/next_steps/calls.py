"""Committed calls: numbers, deadlines, and when one may be sent again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from dispatch.situation import Situation, Step
from projections.record import CallRecord
from streams.messages.events import CallCommitted
from streams.messages.reasons import Reason
from streams.messages.values import Instant, ObjectRef, Verb

REPEAT_FIRST = timedelta(seconds=30)
REPEAT_MAX = timedelta(minutes=15)
ANSWERED_MAX = timedelta(days=1)


def times(situation: Situation, allowed_s: float) -> tuple[Instant, Instant]:
    """When a call sent now must have started, and when it can no longer land; the host's time (L10).

    `over_at` is recorded with the intent, so that a changed setting never shortens it.
    """
    deadline = situation.host_now + timedelta(seconds=allowed_s)
    return deadline, deadline + timedelta(seconds=situation.capabilities.call_bound_s)


class Aim(NamedTuple):
    """What a call is meant for: an object, or by the job's name; the run it begins or ends; hold instances."""

    verb: Verb
    ref: ObjectRef | None = None
    run: int | None = None
    instances: tuple[str, ...] = ()


def call(situation: Situation, aim: Aim, reason: Reason) -> Step:
    """The intent of one call: a new number, one send (L7)."""
    deadline_at, over_at = times(situation, situation.capabilities.call_deadline_s)
    return Step(
        event=CallCommitted(
            call=situation.record.calls_made + 1,
            verb=aim.verb,
            object=aim.ref,
            run=aim.run,
            instances=aim.instances,
            deadline_at=deadline_at,
            over_at=over_at,
            as_of=situation.as_of,
        ),
        reason=reason,
    )


def last(situation: Situation, ref: ObjectRef | None, *verbs: Verb) -> CallRecord | None:
    """The newest call of these verbs on the object (None: by the job's name)."""
    found = [c for c in situation.record.calls.values() if c.object == ref and c.verb in verbs]
    return max(found, key=lambda c: c.call, default=None)


def over(situation: Situation, ref: ObjectRef, *verbs: Verb) -> bool:
    """Whether every call of these verbs on the object was over before this Find began."""
    return all(c.over(situation.as_of) for c in situation.record.calls_on(ref, *verbs))


def may_repeat(situation: Situation, earlier: CallRecord | None) -> bool:
    """Whether another intent may follow an earlier one that did not do its work.

    Once it is over, and after a wait that doubles with each try: a call without effect does not fill the history
    (R21). One that was done, or refused for good, is asked again once a day at last; a stop that was refused is not
    left that long.
    """
    if earlier is None:
        return True
    return earlier.over(situation.as_of) and situation.as_of >= repeat_at(earlier)


def repeat_at(earlier: CallRecord) -> datetime:
    """When, on the host's clock, another intent may follow this one at the earliest."""
    stopping = earlier.verb in (Verb.STOP, Verb.STOP_JOB)
    settled = earlier.done or (earlier.closed and not earlier.retry and not stopping)
    wait: timedelta = min(REPEAT_FIRST * (1 << min(earlier.tries - 1, 12)), ANSWERED_MAX if settled else REPEAT_MAX)
    return earlier.as_of + wait
