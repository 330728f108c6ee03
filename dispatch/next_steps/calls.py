"""Committed calls: numbers, deadlines, and when one may be sent again."""

from __future__ import annotations

from datetime import timedelta

from dispatch.situation import Situation, Step
from projections.record import CallRecord
from streams.messages.events import CallCommitted
from streams.messages.reasons import Reason
from streams.messages.values import Instant, ObjectRef, Verb

REPEAT_FIRST = timedelta(seconds=30)
REPEAT_MAX = timedelta(minutes=15)


def times(situation: Situation, allowed_s: float) -> tuple[Instant, Instant]:
    """When a call sent now must have started, and when it can no longer land; the host's time (L10).

    `over_at` is recorded with the intent, so that a changed setting never shortens it.
    """
    deadline = situation.host_now + timedelta(seconds=allowed_s)
    return deadline, deadline + timedelta(seconds=situation.capabilities.call_bound_s)


def call(
    situation: Situation,
    verb: Verb,
    reason: Reason,
    *,
    ref: ObjectRef | None = None,
    run: int | None = None,
    instances: tuple[str, ...] = (),
) -> Step:
    """The intent of one call: a new number, one send (L7)."""
    deadline_at, over_at = times(situation, situation.capabilities.call_deadline_s)
    return Step(
        event=CallCommitted(
            call=situation.record.calls_made + 1,
            verb=verb,
            object=ref,
            run=run,
            instances=instances,
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


def may_repeat(situation: Situation, earlier: CallRecord | None, repeats: int = 1) -> bool:
    """Whether another intent may follow an earlier one that did not do its work.

    At once after a call that is known to have done nothing for now, else after a growing wait, so that a call
    without effect does not fill the history (R21).
    """
    if earlier is None:
        return True
    if not earlier.over(situation.as_of):
        return False
    longest = timedelta(days=1) if earlier.done else REPEAT_MAX
    wait: timedelta = min(REPEAT_FIRST * (1 << max(0, min(repeats - 1, 12))), longest)
    return situation.as_of >= earlier.as_of + wait
