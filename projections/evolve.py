"""One entry folded into the record: one case an event type, never raising on a history we wrote.

Pure. `fold` is the only loop; a fold may be split anywhere and carried on.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from projections import intents, sightings
from projections.record import (
    Accepted,
    AttemptRecord,
    CancelRecord,
    HoldRecord,
    OutcomeRecord,
    Record,
    RequeueIntent,
    Strange,
    SubmissionRecord,
)
from streams.messages import events
from streams.messages.events import Entry, Envelope, Quarantined, UnknownEvent
from streams.messages.plan import RecoveryPlan, hold_key, paid_key
from streams.messages.values import AttemptRef, Disposition, HoldKind, MessageRef, ObjectRef, Phase

PLANS_SHARED = 1024


def empty(tenant: str, job: str) -> Record:
    """The record of a job of which nothing is known."""
    return Record(tenant=tenant, job=job)


def fold(record: Record, entries: Iterable[Entry]) -> Record:
    """The record after these entries; ones at or below its revision change nothing."""
    for entry in entries:
        if entry.revision > record.revision:
            record = evolve(record, entry)
    return record


def evolve(record: Record, entry: Entry) -> Record:
    """The record after one more entry."""
    content = entry.content
    number = record.number + 1
    if isinstance(content, Quarantined):
        return _strange(record, entry, content.why, upgrade=False)
    if isinstance(content, UnknownEvent):
        return _strange(record, entry, content.type, upgrade=True)
    if content.id in record.ids:
        return replace(record, revision=entry.revision, number=number)
    changed = _apply(record, entry.revision, number, content)
    commands = changed.commands
    if content.command is not None and content.command not in commands:
        accepted = Accepted(entry.revision, number, type(content.event).__name__)
        commands = {**commands, content.command: accepted}
    decided = isinstance(content.event, events.Decision)
    return replace(
        changed,
        revision=entry.revision,
        number=number,
        at=content.at,
        ids=record.ids | {content.id},
        commands=commands,
        owner=content.by if decided else record.owner,
    )


def _strange(record: Record, entry: Entry, text: str, *, upgrade: bool) -> Record:
    number = record.number + 1
    found = Strange(entry.revision, number, text, upgrade)
    return replace(record, revision=entry.revision, number=number, strange=(*record.strange, found))


def _apply(record: Record, revision: int, number: int, envelope: Envelope) -> Record:
    event = envelope.event
    match event:
        case events.JobSubmitted():
            return _submitted(record, revision, envelope, event)
        case events.SubmissionAuthorized():
            return _authorized(record, revision, envelope, event)
        case events.RequeueAuthorized():
            return _requeue_authorized(record, revision, envelope, event)
        case events.AttemptCommitted():
            return _attempted(record, revision, envelope, event)
        case events.CanonicalChosen():
            return _canonical(record, event)
        case events.ObjectRetired():
            return _with_object(record, event.object, retired=True)
        case events.CallCommitted():
            return intents.call_committed(record, revision, envelope, event)
        case events.HoldAsked():
            return _hold(record, revision, envelope, event)
        case events.HoldLifted():
            return _lift(record, event.instances, revision, envelope.command)
        case events.JobCancelled():
            return _cancelled(record, revision, number, envelope)
        case events.OutcomeDecided():
            return _outcome(record, revision, envelope, event)
        case events.TargetDisposed():
            return _disposed(record, event)
        case events.StopVerified():
            return _with_object(record, event.object, verified=event.basis)
        case events.JobSettled():
            return replace(record, settled=True, settled_number=number, settled_at=envelope.at)
        case events.CallReplied():
            return intents.replied(record, revision, number, envelope, event)
        case events.ObjectsSeen():
            return _seen(record, revision, number, envelope, event)
        case events.CessationSeen():
            return _ceased(record, event)
        case events.ControlsSet():
            return record
        case _:
            assert_never(event)


def _with_object(record: Record, ref: ObjectRef, **changes: object) -> Record:
    held = record.objects.get(ref)
    if held is None:
        return record
    return replace(record, objects={**record.objects, ref: replace(held, **changes)})


@functools.lru_cache(maxsize=PLANS_SHARED)
def _shared(plan: RecoveryPlan) -> RecoveryPlan:
    """An equal plan, the same one for every job that has it: most jobs of a team share theirs."""
    return plan


def _submitted(record: Record, revision: int, envelope: Envelope, event: events.JobSubmitted) -> Record:
    record = replace(
        record,
        submitted=replace(event, plan=_shared(event.plan)),
        submitted_at=envelope.at,
        submitted_by=envelope.on_behalf_of or envelope.actor or "",
    )
    if event.spec.hold is None:
        return record
    instance = envelope.command or envelope.id
    asked = HoldRecord(
        instance=instance,
        kind=HoldKind.PERSON,
        rule="person",
        revision=revision,
        at=envelope.at,
        by=envelope.on_behalf_of or envelope.actor or "",
        note=event.spec.hold,
    )
    return replace(record, holds={**record.holds, instance: asked})


def _authorized(record: Record, revision: int, envelope: Envelope, event: events.SubmissionAuthorized) -> Record:
    submission = SubmissionRecord(
        number=event.submission,
        rule=event.rule,
        budget_key=event.budget_key,
        revision=revision,
        at=envelope.at,
        not_before_at=event.not_before_at,
        cause=event.cause,
        avoid_nodes=event.avoid_nodes,
    )
    # Holds are placed on, and lifted from, the newest submission's object: a new one carries none yet.
    holds = {n: replace(h, placed=False, released=h.lifted) for n, h in record.holds.items()}
    record = replace(record, submissions=(*record.submissions, submission), holds=holds)
    return _spend(record, event.rule, event.budget_key)


def _spend(record: Record, rule: str, key: str) -> Record:
    if key in record.keys:
        return record
    paid = paid_key(key) in record.keys
    uses = record.uses if paid else {**record.uses, rule: record.uses.get(rule, 0) + 1}
    return replace(record, keys=record.keys | {key}, uses=uses)


def _requeue_authorized(record: Record, revision: int, envelope: Envelope, event: events.RequeueAuthorized) -> Record:
    intent = RequeueIntent(
        object=event.object,
        run=event.run,
        rule=event.rule,
        budget_key=event.budget_key,
        revision=revision,
        at=envelope.at,
        not_before_at=event.not_before_at,
        cause=event.cause,
    )
    record = replace(record, requeues=(*record.requeues, intent))
    return _spend(record, event.rule, event.budget_key)


def _attempted(record: Record, revision: int, envelope: Envelope, event: events.AttemptCommitted) -> Record:
    attempt = AttemptRecord(
        submission=event.submission,
        attempt=event.attempt,
        call=event.call,
        revision=revision,
        nonce=envelope.id,
        at=envelope.at,
        deadline_at=event.deadline_at,
        over_at=event.over_at,
    )
    submissions = tuple(
        replace(s, attempts=(*s.attempts, attempt)) if s.number == event.submission else s for s in record.submissions
    )
    return replace(
        record,
        submissions=submissions,
        intents={**record.intents, revision: envelope.id},
        calls_made=max(record.calls_made, event.call),
    )


def _canonical(record: Record, event: events.CanonicalChosen) -> Record:
    submissions = tuple(
        replace(s, canonical=event.object) if s.number == event.submission and s.canonical is None else s
        for s in record.submissions
    )
    return replace(record, submissions=submissions)


def _hold(record: Record, revision: int, envelope: Envelope, event: events.HoldAsked) -> Record:
    asked = HoldRecord(
        instance=event.instance,
        kind=event.kind,
        rule=event.rule,
        revision=revision,
        at=envelope.at,
        by=envelope.on_behalf_of or envelope.actor or envelope.by,
        note=envelope.note or "",
        now=event.now,
    )
    return replace(record, holds={**record.holds, event.instance: asked})


def _lift(record: Record, instances: tuple[str, ...], revision: int, command: str | None) -> Record:
    holds = dict(record.holds)
    for instance in instances:
        if instance in holds:
            holds[instance] = replace(holds[instance], lifted=True, lifted_revision=revision, lifted_by=command)
    keys = {hold_key(instance) for instance in instances}
    requeues = tuple(
        replace(r, dropped=r.dropped or (r.budget_key in keys and record.surely_unsent(r))) for r in record.requeues
    )
    return replace(record, holds=holds, requeues=requeues)


def _cancelled(record: Record, revision: int, number: int, envelope: Envelope) -> Record:
    if record.cancel is not None:
        return record
    record = _lift(record, tuple(record.holds), revision, envelope.command)
    cancel = CancelRecord(
        revision=revision,
        number=number,
        at=envelope.at,
        asked_at=envelope.asked_at,
        command=envelope.command,
        by=envelope.on_behalf_of or envelope.actor or "",
        note=envelope.note or "",
    )
    requeues = tuple(replace(r, dropped=r.dropped or r.call is None) for r in record.requeues)
    return replace(record, cancel=cancel, requeues=requeues)


def _outcome(record: Record, revision: int, envelope: Envelope, event: events.OutcomeDecided) -> Record:
    outcome = OutcomeRecord(
        outcome=event.outcome,
        submission=event.submission,
        cause=event.cause,
        rule=event.rule,
        reason=envelope.reason,
        revision=revision,
        at=envelope.at,
    )
    return replace(record, outcome=outcome)


def _disposed(record: Record, event: events.TargetDisposed) -> Record:
    target = event.target
    if isinstance(target, MessageRef):
        strange = tuple(s for s in record.strange if s.revision != target.revision)
        return replace(record, strange=strange, waived=record.waived | {target.revision})
    if isinstance(target, AttemptRef):
        return intents.put_attempt(record, target, given_up=True)
    if event.disposition is Disposition.ADOPT and event.submission is not None and event.attempt is not None:
        answered = AttemptRef(submission=event.submission, attempt=event.attempt)
        record = intents.put_attempt(record, answered, object=target)
        return _adopted(record, target, answered)
    return _given_up_with(_with_object(record, target, disposition=event.disposition), target, event.disposition)


def _adopted(record: Record, ref: ObjectRef, answered: AttemptRef) -> Record:
    """The object as our own; a person's word is also the authority for the run that is on."""
    held = record.objects.get(ref)
    if held is None:
        return record
    run = held.run_record(held.run)
    if run is not None and held.phase in (Phase.QUEUED, Phase.RUNNING, Phase.ENDING):
        held = sightings.put_run(held, replace(run, begun=True, authorized=True))
    held = replace(
        held, submission=answered.submission, attempt=answered.attempt, disposition=Disposition.ADOPT, alive_again=False
    )
    return replace(record, objects={**record.objects, ref: held})


def _given_up_with(record: Record, ref: ObjectRef, disposition: Disposition) -> Record:
    """An object that a person called gone, or to be ignored, before any was chosen takes its attempt with it."""
    held = record.objects.get(ref)
    submission = record.submission(held.submission) if held is not None and held.submission is not None else None
    if held is None or submission is None or held.attempt is None or submission.canonical is not None:
        return record
    if disposition not in (Disposition.GONE, Disposition.IGNORE):
        return record
    return intents.put_attempt(record, AttemptRef(submission=submission.number, attempt=held.attempt), given_up=True)


def _seen(record: Record, revision: int, number: int, envelope: Envelope, event: events.ObjectsSeen) -> Record:
    look = sightings.look_of(event, revision, envelope.at)
    objects = dict(record.objects)
    for seen in event.sightings:
        objects[seen.object] = sightings.see(record, seen, look)
    for ref in event.missing:
        held = objects.get(ref)
        if held is not None and (held.as_of is None or held.as_of <= look.as_of):
            objects[ref] = sightings.miss(held, envelope.at)
    record = intents.match_attempts(replace(record, objects=objects, as_of=_later(record, look)), event)
    return intents.after_find(record, look, number)


def _later(record: Record, look: sightings.Look) -> datetime:
    return look.as_of if record.as_of is None else max(record.as_of, look.as_of)


def _ceased(record: Record, event: events.CessationSeen) -> Record:
    held = record.objects.get(event.object)
    if held is None:
        return record
    return replace(record, objects={**record.objects, event.object: sightings.cease(held, event)})
