"""One entry read into the facts. One case an event type; nothing is judged here.

Never raises, whatever the history holds: a lie must be found by a law, not by a fault of the reader.
"""

from __future__ import annotations

from itertools import combinations

from projections.verify.executions import BEGINS, LIVE, CallFacts, Look, ObjectFacts, RunFacts, Word
from projections.verify.facts import AttemptFacts, Facts, RequeueFacts, SubmissionFacts
from streams.messages.events import (
    AttemptCommitted,
    CallCommitted,
    CallReplied,
    CanonicalChosen,
    CessationSeen,
    Entry,
    Envelope,
    Evidence,
    HoldAsked,
    HoldLifted,
    JobCancelled,
    JobSettled,
    JobSubmitted,
    ObjectRetired,
    ObjectsSeen,
    OutcomeDecided,
    Quarantined,
    RequeueAuthorized,
    StopVerified,
    SubmissionAuthorized,
    TargetDisposed,
    UnknownEvent,
)
from streams.messages.plan import paid_key
from streams.messages.values import AttemptRef, Disposition, MessageRef, Phase, Sighting, Verb


def read(facts: Facts, entry: Entry) -> None:
    """Take one more entry into the facts. An event id that was there before changes nothing."""
    facts.number += 1
    facts.revision = entry.revision
    match entry.content:
        case Quarantined(why=why):
            facts.unread[entry.revision] = f"a message that nobody can read ({why})"
        case UnknownEvent(type=name, v=version):
            facts.unread[entry.revision] = f"a message of type {name}, version {version}, unknown to this release"
            facts.unknown_number = facts.unknown_number or facts.number
        case Envelope() as envelope if envelope.id not in facts.event_ids:
            facts.event_ids[envelope.id] = entry.revision
            if isinstance(envelope.event, Evidence):
                _read_evidence(facts, envelope)
            else:
                _note_find(facts, envelope)
                _read_decision(facts, envelope)
        case _:
            pass


def _note_find(facts: Facts, envelope: Envelope) -> None:
    """Remember which Find a decision says it was made from."""
    as_of = getattr(envelope.event, "as_of", None)
    if as_of is not None:
        facts.decided_from.append((facts.number, as_of))


def _read_decision(facts: Facts, envelope: Envelope) -> None:
    match envelope.event:
        case JobSubmitted() as event:
            facts.submitted = facts.submitted or event
            if event.spec.hold is not None:
                _ask_hold(facts, envelope.command or envelope.id)
        case SubmissionAuthorized() as event:
            if facts.submission(event.submission) is None:
                facts.submissions.append(SubmissionFacts(submission=event.submission, rule=event.rule))
            _spend(facts, event.rule, event.budget_key)
        case RequeueAuthorized() as event:
            facts.requeues.append(RequeueFacts(event.object, event.run, facts.number))
            _spend(facts, event.rule, event.budget_key)
        case AttemptCommitted() as event:
            _read_attempt(facts, envelope, event)
        case CanonicalChosen() as event:
            submission = facts.submission(event.submission)
            if submission is not None and submission.canonical is None:
                submission.canonical = event.object
        case ObjectRetired() as event:
            if event.object in facts.objects:
                facts.objects[event.object].retired = True
        case CallCommitted() as event:
            _read_call(facts, envelope, event)
        case HoldAsked() as event:
            _ask_hold(facts, event.instance)
        case HoldLifted() as event:
            facts.in_force.difference_update(event.instances)
        case JobCancelled():
            facts.cancelled = facts.cancelled or facts.number
            facts.in_force.clear()
        case OutcomeDecided():
            facts.outcome = facts.outcome or facts.number
        case TargetDisposed() as event:
            _read_disposal(facts, event)
        case StopVerified() as event:
            held = facts.objects.get(event.object)
            if held is not None and event.run >= held.run:
                held.verified = True
        case JobSettled():
            facts.settled = facts.settled or facts.number
        case _:
            pass


def _read_evidence(facts: Facts, envelope: Envelope) -> None:
    match envelope.event:
        case CallReplied() as event:
            _read_reply(facts, event)
        case ObjectsSeen() as event:
            _read_find(facts, event)
        case CessationSeen() as event:
            held = facts.objects.get(event.object)
            if held is not None:
                word = Word(event.answer, event.basis, event.as_of, facts.revision, event.nodes)
                held.of_run(event.run).words.append(word)
        case _:
            pass


def _ask_hold(facts: Facts, instance: str) -> None:
    facts.instances.setdefault(instance, facts.number)
    facts.in_force.add(instance)


def _spend(facts: Facts, rule: str, key: str) -> None:
    if paid_key(key) not in facts.budget_keys:
        facts.rule_uses[rule] = facts.rule_uses.get(rule, 0) + 1
    facts.budget_keys.setdefault(key, facts.number)


def _read_attempt(facts: Facts, envelope: Envelope, event: AttemptCommitted) -> None:
    start = CallFacts(
        call=event.call,
        verb=Verb.START,
        revision=facts.revision,
        number=facts.number,
        event_id=envelope.id,
        over_at=event.over_at,
    )
    facts.calls[event.call] = start
    submission = facts.submission(event.submission)
    if submission is not None:
        submission.attempts.append(AttemptFacts(submission=event.submission, attempt=event.attempt, start=start))


def _read_call(facts: Facts, envelope: Envelope, event: CallCommitted) -> None:
    call = CallFacts(
        call=event.call,
        verb=event.verb,
        revision=facts.revision,
        number=facts.number,
        event_id=envelope.id,
        over_at=event.over_at,
        as_of=event.as_of,
        object=event.object,
        run=event.run,
        instances=frozenset(event.instances),
    )
    call.sweeps = event.verb is Verb.STOP_JOB and not facts.may_land(event.as_of)
    facts.calls[event.call] = call
    held = facts.objects.get(event.object) if event.object is not None else None
    if held is not None and event.verb in BEGINS and event.run is not None:
        held.of_run(event.run).opens.append(call)


def _read_disposal(facts: Facts, event: TargetDisposed) -> None:
    target = event.target
    if isinstance(target, MessageRef):
        facts.unread.pop(target.revision, None)
        return
    if isinstance(target, AttemptRef):
        attempt = facts.attempt(target.submission, target.attempt)
        if attempt is not None:
            attempt.given_up = True
        return
    held = facts.objects.get(target)
    if held is None:
        return
    answered = facts.attempt(event.submission or 0, event.attempt or 0)
    if event.disposition is Disposition.ADOPT and answered is not None:
        held.submission, held.attempt = answered.submission, answered.attempt
        answered.objects.append(target)
        held.of_run(held.run).adopted = True
    held.disposition = event.disposition
    _give_up_with(facts, held)


def _give_up_with(facts: Facts, held: ObjectFacts) -> None:
    """A word on the object of a submission without a canonical one is a word on its attempt too."""
    submission = facts.submission(held.submission)
    attempt = facts.attempt(held.submission, held.attempt)
    if submission is None or submission.canonical is not None or attempt is None:
        return
    attempt.given_up = attempt.given_up or held.disposition in (Disposition.GONE, Disposition.IGNORE)


def _read_reply(facts: Facts, event: CallReplied) -> None:
    """A clear reply wins over none and over `unknown`, and stays."""
    call = facts.calls.get(event.call)
    if call is None or call.answered:
        return
    call.reply, call.reply_revision, call.retry, call.made = event.outcome, facts.revision, event.retry, event.object
    if event.object is None:
        return
    attempt = next((a for a in facts.attempts if a.start is call), None)
    if attempt is None:
        return
    if event.object not in attempt.objects:
        attempt.objects.append(event.object)
    made = ObjectFacts(ref=event.object, submission=attempt.submission, attempt=attempt.attempt)
    facts.objects.setdefault(event.object, made)


def _read_find(facts: Facts, event: ObjectsSeen) -> None:
    look = Look(event.as_of, event.read_revision, facts.revision, facts.number)
    facts.last_find = facts.revision
    for seen in event.sightings:
        _see(facts, seen, look)
    for ref in event.missing:
        held = facts.objects.get(ref)
        if held is not None and (held.look is None or held.look.as_of <= look.as_of):
            held.missing = True
    _note_together(facts, look)


def _see(facts: Facts, seen: Sighting, look: Look) -> None:
    attempt = facts.attempt_of(seen.tag)
    if attempt is not None and seen.object not in attempt.objects:
        attempt.objects.append(seen.object)
    held = facts.objects.setdefault(seen.object, ObjectFacts(ref=seen.object))
    if held.look is None and held.foreign and attempt is not None:
        held.submission, held.attempt = attempt.submission, attempt.attempt
    held.first_number = held.first_number or look.number
    run = held.of_run(seen.run)
    # The run that an object shows at its gate is its next one: unsuspended by hand, it shows the one it has.
    stale = seen.run < held.run and held.phase is not Phase.GATED
    if held.look is not None and (look.as_of < held.look.as_of or stale):
        _see_stale(held, run, seen, look)
        return
    if seen.phase is Phase.RUNNING and not held.foreign:
        _judge_leave(held, run, look)
    if seen.phase in LIVE:
        run.alive_at, run.alive_number = look.as_of, run.alive_number or look.number
        run.ending_seen = run.ending_seen or seen.phase is Phase.ENDING
    run.nodes.update(seen.nodes)
    if seen.phase is Phase.ENDED:
        held.end = look
        _end(run, seen)
    else:
        held.verified = False
        if held.disposition is Disposition.GONE:
            held.disposition = None
    held.phase, held.run, held.look = seen.phase, seen.run, look
    held.missing, held.stale_number, held.end_final = False, 0, seen.end_final


def _see_stale(held: ObjectFacts, run: RunFacts, seen: Sighting, look: Look) -> None:
    """A look older than the one held: only an end that was not known is news."""
    if seen.phase is not Phase.ENDED:
        held.stale_number = look.number
    elif not run.ended:
        _end(run, seen)
    elif seen.cause is not None and any(cause.final for cause in run.causes):
        run.stale_causes.append(seen.cause)


def _end(run: RunFacts, seen: Sighting) -> None:
    run.ended = True
    run.ended_with_nodes = run.ended_with_nodes or bool(seen.nodes)
    run.nodes.update(seen.nodes)
    if seen.cause is not None:
        run.causes.append(seen.cause)


def _judge_leave(held: ObjectFacts, run: RunFacts, look: Look) -> None:
    """Note a run of ours that no committed open, admit or release begins, or that began again by itself."""
    if run.ended:
        run.again_revision = look.revision
    without = not run.opens and not run.adopted
    if (run.ended or without or held.retired) and not run.unauthorized_number:
        run.unauthorized_number, run.unauthorized_revision = look.number, look.revision


def _note_together(facts: Facts, look: Look) -> None:
    alive = [
        held
        for held in facts.objects.values()
        if held.phase in LIVE and not held.missing and not held.foreign
        if held.look is not None and held.look.as_of <= look.as_of
    ]
    for one, other in combinations(alive, 2):
        pair = (one.ref, one.run, other.ref, other.run)
        if pair not in facts.together:
            facts.together.append(pair)
