"""Settlement: appended once, when every clause of `settled` holds for this pass's own Find (L3)."""

from __future__ import annotations

from dispatch.situation import Situation, Step
from projections.settled import holds, settled
from streams.messages.events import JobSettled
from streams.messages.reasons import Reason


def settle(situation: Situation) -> tuple[Step, ...]:
    """The last event of a job, or nothing while a clause does not hold."""
    if not holds(settled(situation.record, situation.found, situation.capabilities)):
        return ()
    return (Step(event=JobSettled(as_of=situation.as_of), reason=Reason.ALL_CLAUSES_HOLD),)
