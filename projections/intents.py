"""How committed calls, their replies and the Finds after them change the record.

A call is over when it is clearly answered, or when a Find says that the host's clock has passed its bound (L10).
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from projections.record import (
    AttemptRecord,
    CallRecord,
    CancelRecord,
    HoldRecord,
    ObjectRecord,
    Record,
    RunRecord,
)
from projections.sightings import Look, put_run
from streams.messages import events
from streams.messages.events import Envelope
from streams.messages.values import AttemptRef, HoldSeen, ObjectRef, Phase, ReplyOutcome, Verb


def put_attempt(record: Record, ref: AttemptRef, **changes: object) -> Record:
    """The record with these fields of one attempt changed; unknown attempts change nothing."""
    submissions = tuple(
        replace(s, attempts=tuple(replace(a, **changes) if a.ref == ref else a for a in s.attempts))
        if s.number == ref.submission
        else s
        for s in record.submissions
    )
    return replace(record, submissions=submissions)


def call_committed(record: Record, revision: int, envelope: Envelope, event: events.CallCommitted) -> Record:
    """The record with this call open: its object opened, or on its way back to its gate."""
    call = CallRecord(
        call=event.call,
        verb=event.verb,
        revision=revision,
        event_id=envelope.id,
        at=envelope.at,
        deadline_at=event.deadline_at,
        over_at=event.over_at,
        as_of=event.as_of,
        reason=envelope.reason,
        object=event.object,
        run=event.run,
        instances=event.instances,
        tries=_tries(record, event),
    )
    record = replace(
        record,
        calls={**record.calls, event.call: call},
        calls_made=max(record.calls_made, event.call),
        intents={**record.intents, revision: envelope.id},
    )
    if event.verb is Verb.STOP_JOB and record.cancel is not None:
        return replace(record, cancel=_count_stop(record.cancel, event.call))
    held = record.objects.get(event.object) if event.object else None
    if held is None:
        return record
    if event.verb is Verb.REQUEUE:
        held = replace(held, ended=False)
        requeues = tuple(
            replace(r, call=event.call) if r.object == held.ref and r.run == event.run and not r.dropped else r
            for r in record.requeues
        )
        record = replace(record, requeues=requeues)
    elif event.run is not None and event.verb in (Verb.OPEN, Verb.ADMIT, Verb.RELEASE):
        held = _opened(held, event.run, envelope, event)
    return replace(record, objects={**record.objects, held.ref: held})


def _tries(record: Record, event: events.CallCommitted) -> int:
    """Which try this is: one more than the call before it, unless something new was seen of the object since."""
    before = [c for c in record.calls.values() if (c.verb, c.object) == (event.verb, event.object)]
    last = max(before, key=lambda c: c.revision, default=None)
    held = record.objects.get(event.object) if event.object else None
    if last is None or (held is not None and held.seen_revision > last.revision):
        return 1
    return last.tries + 1


def _count_stop(cancel: CancelRecord, call: int) -> CancelRecord:
    if cancel.first is None:
        return replace(cancel, first=call)
    return replace(cancel, second=call)


def _opened(held: ObjectRecord, run: int, envelope: Envelope, event: events.CallCommitted) -> ObjectRecord:
    known = (held.run_record(run) or RunRecord(run=run)).unspoken
    return put_run(
        held,
        replace(
            known,
            begun=True,
            authorized=True,
            opened_at=known.opened_at or envelope.at,
            open_as_of=known.open_as_of or event.as_of,
        ),
    )


def replied(record: Record, revision: int, number: int, envelope: Envelope, event: events.CallReplied) -> Record:
    """A reply folded in: a clear one wins over none and over unknown, and stays."""
    attempt = next((a for a in record.attempts if a.call == event.call), None)
    if attempt is not None:
        return _start_replied(record, revision, attempt.ref, event)
    call = record.calls.get(event.call)
    if call is None or call.closed:
        return record
    call = replace(call, reply=event.outcome, reply_revision=revision, retry=event.retry, detail=event.detail)
    calls = {n: c for n, c in record.calls.items() if n >= call.call or _alike(c) != _alike(call) or not call.closed}
    record = replace(record, calls={**calls, call.call: call})
    return _with_progress(record, number, envelope)


def _alike(call: CallRecord) -> tuple[Verb, ObjectRef | None, int | None, ReplyOutcome | None]:
    """What closed calls have in common of which the newest tells all."""
    return call.verb, call.object, call.run, call.reply


def _start_replied(record: Record, revision: int, ref: AttemptRef, event: events.CallReplied) -> Record:
    attempt = record.attempt(ref.submission, ref.attempt)
    if attempt is None or attempt.reply in (ReplyOutcome.DONE, ReplyOutcome.REFUSED):
        return record
    made = event.object
    record = put_attempt(
        record,
        ref,
        reply=event.outcome,
        reply_revision=revision,
        retry=event.retry,
        detail=event.detail,
        object=attempt.object or made,
    )
    if made is None or made in record.objects:
        return record
    held = ObjectRecord(ref=made, submission=ref.submission, attempt=ref.attempt, first_revision=revision)
    return replace(record, objects={**record.objects, made: held})


def match_attempts(record: Record, event: events.ObjectsSeen) -> Record:
    """Attempts answered by an object that carries their tag."""
    for seen in event.sightings:
        attempt = record.attempt_of(seen.tag)
        if attempt is not None and attempt.object is None:
            record = put_attempt(record, attempt.ref, object=seen.object)
    return record


def starts_over(record: Record, look: Look) -> bool:
    """Whether no Start can make an object after this Find: each is matched, clearly refused, or over."""
    return all(start_over(a, look.as_of, look.read_revision) for a in record.attempts)


def start_over(attempt: AttemptRecord, as_of: datetime, read_revision: int) -> bool:
    """Whether this Start can make nothing that a Find begun at `as_of` could miss."""
    answered = attempt.made_nothing and attempt.reply_revision <= read_revision
    return attempt.object is not None or answered or as_of >= attempt.over_at


def after_find(record: Record, look: Look, number: int) -> Record:
    """What a complete Find proves about holds and about a cancel."""
    record = _judge_holds(record, look)
    if record.cancel is None or record.cancel.complete:
        return record
    cancel = record.cancel
    second = record.calls.get(cancel.second) if cancel.second is not None else None
    calls_over = all(c.over_before(look.as_of, look.read_revision) for c in record.calls.values())
    if second is not None and second.done and calls_over and starts_over(record, look) and all_accounted(record):
        cancel = replace(cancel, complete=True, complete_number=number, complete_at=look.at)
        record = replace(record, cancel=cancel)
    return _with_stopped(record, number, look)


def all_accounted(record: Record) -> bool:
    """Every object ever recorded has ended, is verified stopped or disposed of."""
    return all(o.accounted for o in record.objects.values())


def _with_stopped(record: Record, number: int, look: Look) -> Record:
    cancel = record.cancel
    if cancel is None or cancel.stopped or cancel.first is None:
        return record
    first = record.calls.get(cancel.first)
    later = record.calls.get(cancel.second) if cancel.second is not None else None
    done = any(c is not None and c.done and c.reply_revision <= look.read_revision for c in (first, later))
    if not done or not all_accounted(record):
        return record
    stopped = replace(cancel, stopped=True, stopped_number=number, stopped_at=look.at)
    return replace(record, cancel=stopped)


def _with_progress(record: Record, number: int, envelope: Envelope) -> Record:
    """`stopped` can also be said by the reply of the first stop, where nothing is left to see."""
    if record.cancel is None or record.objects:
        return record
    cancel = record.cancel
    first = record.calls.get(cancel.first) if cancel.first is not None else None
    if cancel.stopped or first is None or not first.done:
        return record
    stopped = replace(cancel, stopped=True, stopped_number=number, stopped_at=envelope.at)
    return replace(record, cancel=stopped)


def _judge_holds(record: Record, look: Look) -> Record:
    held = record.canonical()
    if held is None or not record.holds or held.missing:
        return record
    if held.as_of is None or look.as_of < held.as_of or held.phase is Phase.ENDED:
        return record
    changing = record.calls_on(held.ref, Verb.OPEN, Verb.ADMIT, Verb.HOLD, Verb.RELEASE)
    if not all(c.over_before(look.as_of, look.read_revision) for c in changing):
        return record
    # Where gate and hold are one bit, an object gated for a run that was opened carries a hold, or an Open without
    # effect; gated for a later run it stands at its gate.
    opened = record.opened(held.ref) and any(
        c.run == held.run for c in record.calls_on(held.ref, Verb.OPEN, Verb.ADMIT, Verb.RELEASE)
    )
    bit = held.hold is HoldSeen.USER or (held.phase is Phase.GATED and opened)
    untouched = bool(record.in_force) or not bit or not may_carry_our_hold(record, held.ref)
    holds = {name: _judged(h, bit=bit, released=untouched) for name, h in record.holds.items()}
    return record if holds == record.holds else replace(record, holds=holds)


def may_carry_our_hold(record: Record, ref: ObjectRef) -> bool:
    """Whether a hold of ours may be on the object: one was sent, and no release after it was answered done.

    By the calls, not by the instances they name: one hold on the object serves every instance that is in force.
    """
    placed = max((c.call for c in record.calls_on(ref, Verb.HOLD) if c.reply is not ReplyOutcome.REFUSED), default=0)
    return placed > max((c.call for c in record.calls_on(ref, Verb.RELEASE) if c.done), default=0)


def _judged(hold: HoldRecord, *, bit: bool, released: bool) -> HoldRecord:
    """`released`: nothing of a lifted hold is left on the object, or another hold is in force on it."""
    if not hold.lifted:
        return replace(hold, placed=bit)
    return hold if hold.released else replace(hold, released=released)
