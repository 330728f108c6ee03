"""What follows from a record, a Find and the time: steps as data, in order of urgency (the seeds' Next).

Pure and synchronous. The supervisor takes the first step, appends it at the revision decided from, and asks
again; after a call other than a stop the pass ends, because its Find cannot cover what that call does.
"""

from __future__ import annotations

from dispatch.next_steps import cancel, gate, holds, launch, recover, settle, stop
from dispatch.situation import Situation, Step
from streams.messages.events import CallCommitted
from streams.messages.values import Verb

__all__ = ["next_steps"]


def next_steps(situation: Situation) -> tuple[Step, ...]:
    """Every step that may be taken now, the most urgent first; none where decisions are stopped.

    A read-only cluster is looked at, and never called; one that is gone is told to stop, so that a cancel can complete.
    """
    steps = _steps(situation)
    able = situation.capabilities
    if not able.read_only:
        return steps
    return tuple(s for s in steps if not s.is_call or (able.takes_stops and _is_stop(s)))


def _is_stop(step: Step) -> bool:
    return isinstance(step.event, CallCommitted) and step.event.verb in (Verb.STOP, Verb.STOP_JOB)


def _steps(situation: Situation) -> tuple[Step, ...]:
    record = situation.record
    if record.strange or record.submitted is None:
        return ()
    if record.settled:
        return stop.unauthorized_only(situation)
    steps = (*stop.retire(situation), *stop.stops(situation))
    if record.over:
        closing = (*cancel.stop_job(situation), *stop.verify(situation), *launch.give_up(situation))
        return (*steps, *closing, *settle.settle(situation))
    return (
        *steps,
        *stop.verify(situation),
        *holds.hold_now(situation),
        *holds.hold_calls(situation),
        *recover.requeue_call(situation),
        *launch.launch(situation),
        *gate.open_gate(situation),
        *recover.recover(situation),
    )
