"""What must not run: retired objects, stops of the condemned, and proof that a stop worked."""

from __future__ import annotations

from datetime import datetime, timedelta

from dispatch.next_steps import calls
from dispatch.next_steps.calls import Aim
from dispatch.situation import Situation, Step
from projections.record import CallRecord, ObjectRecord
from streams.messages.events import ObjectRetired, StopVerified
from streams.messages.reasons import Reason
from streams.messages.values import Disposition, Phase, Sighting, StopBasis, Verb

STOPPABLE = (Phase.GATED, Phase.QUEUED, Phase.RUNNING, Phase.UNCLEAR)


def retire(situation: Situation) -> tuple[Step, ...]:
    """Every other object of a submission with a canonical one, and all of a closed submission (L1)."""
    steps = []
    for held in situation.record.objects.values():
        reason = _retire_reason(situation, held)
        if reason is not None and held.submission is not None and held.attempt is not None:
            event = ObjectRetired(object=held.ref, submission=held.submission, attempt=held.attempt)
            steps.append(Step(event=event, reason=reason))
    return tuple(steps)


def _retire_reason(situation: Situation, held: ObjectRecord) -> Reason | None:
    record = situation.record
    submission = record.submission(held.submission) if held.submission is not None else None
    if submission is None or held.retired or held.ignored:
        return None
    if submission.canonical is not None:
        return None if submission.canonical == held.ref else Reason.DUPLICATE
    attempt = record.attempt(submission.number, held.attempt or 0)
    if record.closed(submission) or (attempt is not None and attempt.given_up):
        return Reason.CLOSED_SUBMISSION
    return None


def stops(situation: Situation) -> tuple[Step, ...]:
    """A stop for every condemned object that this Find shows (5.4)."""
    steps = []
    for ref, seen in situation.shown.items():
        held = situation.record.objects.get(ref)
        reason = condemned(situation, held, seen) if held is not None else None
        if held is None or reason is None or not _wants_stop(situation, held, seen, reason):
            continue
        steps.append(calls.call(situation, Aim(Verb.STOP, ref), reason))
    return tuple(steps)


def _wants_stop(situation: Situation, held: ObjectRecord, seen: Sighting, reason: Reason) -> bool:
    if reason is not Reason.CAN_RUN_AGAIN and seen.phase not in STOPPABLE:
        return False
    earlier = calls.last(situation, held.ref, Verb.STOP)
    if earlier is not None and earlier.closed and earlier.retry:
        return situation.as_of >= again_at(situation, earlier)
    return calls.may_repeat(situation, earlier)


def again_at(situation: Situation, refused: CallRecord) -> datetime:
    """When a stop that was refused for now is sent again, on the host's clock."""
    return refused.as_of + timedelta(seconds=situation.capabilities.find_every_s)


def condemned(situation: Situation, held: ObjectRecord, seen: Sighting) -> Reason | None:
    """Why this object must not run on or run again, or None."""
    record = situation.record
    if held.ignored:
        return None
    if held.foreign and held.disposition is not Disposition.STOP and record.cancel is None:
        return None
    if unauthorized(situation, held, seen) and not held.foreign:
        return Reason.UNAUTHORIZED_RUN
    if seen.phase is Phase.ENDED:
        return _again(situation, seen)
    if held.disposition is Disposition.STOP:
        return Reason.DISPOSED_STOP
    if held.foreign:
        return Reason.JOB_OVER
    if held.retired:
        return Reason.RETIRED
    if record.over:
        return Reason.JOB_OVER
    if held.submission != len(record.submissions) and seen.phase in STOPPABLE:
        return Reason.PERSON_RESUBMIT
    if _past_start_within(situation, held, seen):
        return Reason.START_WITHIN
    return None


def unauthorized(situation: Situation, held: ObjectRecord, seen: Sighting) -> bool:
    """Whether it runs, or waits to, without a committed open: by hand, by the scheduler itself, or again after its end.

    One that waits is not left to begin: it may find nodes before the next look, or its pods wait for ever behind their
    fence. Under Kueue an object waits for quota before it comes to its gate.
    """
    if seen.phase not in (Phase.QUEUED, Phase.RUNNING):
        return False
    if seen.phase is Phase.QUEUED and situation.capabilities.queues_gated:
        return held.alive_again
    run = held.run_record(seen.run)
    unasked = held.alive_again or run is None or not run.authorized
    return unasked or (held.retired and seen.phase is Phase.RUNNING)


def _again(situation: Situation, seen: Sighting) -> Reason | None:
    """An ended object that can run again by itself is stopped, as the first act after its end, until it is final.

    A stop that was answered done may have been undone by hand since.
    """
    if not situation.capabilities.ended_runs_again or seen.end_final:
        return None
    return Reason.CAN_RUN_AGAIN


def _past_start_within(situation: Situation, held: ObjectRecord, seen: Sighting) -> bool:
    at = begins_by(situation, held, seen)
    return at is not None and situation.as_of >= at


def begins_by(situation: Situation, held: ObjectRecord, seen: Sighting) -> datetime | None:
    """When, on the host's clock, an opened run that waits for nodes has waited as long as its job lets it."""
    within = situation.spec.start_within
    run = held.run_record(seen.run)
    if within is None or run is None or run.open_as_of is None or seen.phase is not Phase.QUEUED:
        return None
    return run.open_as_of + timedelta(seconds=within)


def verify(situation: Situation) -> tuple[Step, ...]:
    """Objects that were never seen ended and are no longer shown, where their stop or their processes tell."""
    steps = []
    for ref, held in situation.record.objects.items():
        if ref in situation.shown or held.accounted or held.as_of is None:
            continue
        basis = _verified_by(situation, held)
        if basis is StopBasis.PROCESSES_GONE and situation.capabilities.ended_runs_again:
            # What is not shown may begin again all the same: no proof of an end before its stop was done.
            free = calls.may_repeat(situation, calls.last(situation, ref, Verb.STOP))
            steps += [calls.call(situation, Aim(Verb.STOP, ref), Reason.CAN_RUN_AGAIN)] if free else []
        elif basis is not None:
            event = StopVerified(object=ref, run=held.run, basis=basis, as_of=situation.as_of)
            gone = basis is StopBasis.PROCESSES_GONE
            steps.append(Step(event=event, reason=Reason.PROCESSES_GONE if gone else Reason.STOP_DONE_AND_ABSENT))
    return tuple(steps)


def _verified_by(situation: Situation, held: ObjectRecord) -> StopBasis | None:
    """Absence alone is nothing (L9): it takes a stop answered done before this Find, or no process left.

    A controller that lost its records answers done as well, and its nodes run on: where they can be asked, they are.
    """
    stopped = any(c.done and c.revision > held.seen_revision for c in situation.record.calls_on(held.ref, Verb.STOP))
    if stopped and not (held.unproven and situation.capabilities.cessation):
        return StopBasis.STOP_DONE_AND_ABSENT
    begun = [r for r in held.runs if r.begun]
    revivable = not calls.over(situation, held.ref, Verb.OPEN, Verb.ADMIT, Verb.RELEASE, Verb.REQUEUE)
    if not begun or held.unproven or revivable:
        return None
    # A run that was opened and never seen to start may be waiting where this Find does not look.
    if begun[-1].started_as_of is not None or begun[-1].ended:
        return StopBasis.PROCESSES_GONE
    return None


def unauthorized_only(situation: Situation) -> tuple[Step, ...]:
    """After settlement: nothing but stops of unauthorized runs, and of objects that came late (L1)."""
    steps = []
    for ref, seen in situation.shown.items():
        held = situation.record.objects.get(ref)
        if held is None or held.foreign or held.ignored:
            continue
        if seen.phase in STOPPABLE and _wants_stop(situation, held, seen, Reason.UNAUTHORIZED_RUN):
            steps.append(calls.call(situation, Aim(Verb.STOP, ref), Reason.UNAUTHORIZED_RUN))
    return tuple(steps)
