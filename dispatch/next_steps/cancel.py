"""Cancel: one commit came first; then stop by name, and once more when nothing can land any more (L2)."""

from __future__ import annotations

from dispatch.next_steps import calls
from dispatch.next_steps.calls import Aim
from dispatch.situation import Situation, Step
from projections.intents import start_over
from streams.messages.reasons import Reason
from streams.messages.values import Verb

CAN_LAND = (Verb.REQUEUE, Verb.OPEN, Verb.ADMIT, Verb.RELEASE)


def stop_job(situation: Situation) -> tuple[Step, ...]:
    """The first stop by name at once; the second when every call that could still revive a run is over."""
    cancel = situation.record.cancel
    if cancel is None or cancel.complete:
        return ()
    if cancel.first is None:
        return (calls.call(situation, Aim(Verb.STOP_JOB), Reason.CANCELLED),)
    if not _nothing_can_land(situation):
        return ()
    if cancel.second is None:
        first = situation.record.calls.get(cancel.first)
        waits = first is not None and not first.over(situation.as_of)
        return () if waits else (calls.call(situation, Aim(Verb.STOP_JOB), Reason.CALLS_OVER),)
    second = situation.record.calls.get(cancel.second)
    if second is None or second.done or not calls.may_repeat(situation, second):
        return ()
    return (calls.call(situation, Aim(Verb.STOP_JOB), Reason.CALLS_OVER),)


def _nothing_can_land(situation: Situation) -> bool:
    record = situation.record
    over = all(c.over(situation.as_of) for c in record.calls.values() if c.verb in CAN_LAND)
    return over and all(start_over(a, situation.as_of, record.revision) for a in record.attempts)
