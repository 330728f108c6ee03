"""L2: a committed cancel is final.

Judged: nothing is authorized after it, no other outcome stands beside it, a stop by name needs it, and before
settlement everything that was opened is accounted for and one stop by name was committed at a time when nothing
could land any more (the second one, or the first if nothing was under way).
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.executions import CAN_LAND
from projections.verify.facts import Facts, Stored
from streams.messages.events import (
    AttemptCommitted,
    CallCommitted,
    HoldAsked,
    JobCancelled,
    JobSettled,
    JobSubmitted,
    OutcomeDecided,
    RequeueAuthorized,
    SubmissionAuthorized,
)
from streams.messages.values import Verb

LAW = "L2"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """What this event does against a cancel."""
    event = stored.envelope.event
    after = f"after the cancel of #{facts.cancelled}"
    match event:
        case CallCommitted(verb=Verb.STOP_JOB):
            if not facts.cancelled:
                yield f"call {event.call} (stop-job) committed, but no cancel"
        case CallCommitted(verb=verb) if facts.cancelled and verb in CAN_LAND:
            yield f"call {event.call} ({verb.value}) committed {after}"
        case OutcomeDecided(outcome=outcome):
            if facts.cancelled:
                yield f"outcome {outcome.value} decided {after}"
            elif facts.outcome:
                yield f"outcome {outcome.value} decided, but one stands since #{facts.outcome}"
        case JobCancelled():
            if facts.outcome:
                yield f"cancelled, but another outcome stands since #{facts.outcome}"
        case JobSubmitted() | SubmissionAuthorized() | RequeueAuthorized() | AttemptCommitted() | HoldAsked():
            if facts.cancelled:
                yield f"{type(event).__name__} {after}"
        case JobSettled():
            if facts.cancelled and facts.submitted is not None:
                yield from _settled(facts)
        case _:
            pass


def _settled(facts: Facts) -> Iterator[str]:
    for held in facts.objects.values():
        opened = any(not call.refused for run in held.runs.values() for call in run.opens)
        if opened and held.counts and not facts.accounted(held):
            yield f"settled, but {held.name} was opened and is not known to have ended"
    if not any(call.sweeps for call in facts.calls.values()):
        yield "settled, but no stop by name was committed when every call that could land was over"
