"""Waits on the way to a run: the Start, the gate, the scheduler's queue."""

from __future__ import annotations

from datetime import datetime

from projections.record import AttemptRecord, CallRecord, ObjectRecord, SubmissionRecord
from projections.status import words
from projections.status.picture import Picture
from projections.status.state import came_back, foreign_hold, open_sent
from projections.status.view import Nature
from projections.status.waits.pending import ends_of, nature_of
from projections.status.waits.waiting import PATIENCE, Waiting, cancel
from streams.messages.values import Phase, ReplyOutcome, Verb

PASS = "the next pass of a supervisor"


def launching(picture: Picture) -> list[Waiting]:
    """What the newest submission waits for until the scheduler may run it; nothing once it runs or has ended."""
    record = picture.record
    newest = record.newest
    if newest is None:
        since = record.submitted_at
        if record.submitted is None and not record.strange:
            return [_begun_by_rubbish(picture)]
        return [
            Waiting(
                what="its first submission to be authorized",
                since=since,
                ends=(PASS,),
                patience=PATIENCE,
                momentary=True,
            )
        ]
    held = record.canonical()
    if held is None:
        return [] if record.closed(newest) else _start(picture, newest)
    if held.missing or held.accounted or foreign_hold(record) is not None:
        return []
    if held.phase is Phase.QUEUED:
        return _releases(picture, held) or [_queue(picture, held)]
    if record.pending_requeue() is not None or came_back(record, held) is not None:
        return []
    return _gate(picture, held) if held.phase in (Phase.GATED, Phase.UNCLEAR) else []


def _begun_by_rubbish(picture: Picture) -> Waiting:
    """A name whose history began with a message that nobody could read: no submit can be its first event any more."""
    return Waiting(
        what="a submit that can no longer come",
        nature=Nature.NEEDS_A_PERSON,
        because=("its history began with a message that nobody could read: every submit of this name is refused",),
        ends=("someone cancels it, and submits the job under a new name",),
        can=cancel(picture.record),
    )


def _not_called(picture: Picture, call: str, since: datetime | None) -> Waiting | None:
    """Why no call that begins a run is sent: its cluster is gone, or only looked at."""
    able, cluster = picture.capabilities, picture.cluster
    if able is None or not able.read_only:
        return None
    if able.takes_stops:
        why, ends = f"{cluster} is gone, by a person's word", ("someone cancels the job", f"an agent serves {cluster}")
    else:
        why = f"{cluster} is read-only: it is looked at, and nothing is started there"
        ends = (
            f"whoever serves {cluster} lets it be called",
            "someone cancels the job; where the cluster is no more, dispatch agent gone answers for it",
        )
    return Waiting(
        what=f"{cluster} to take calls: {call} is not sent",
        nature=Nature.NEEDS_A_PERSON,
        since=since,
        because=(why,),
        ends=ends,
        can=cancel(picture.record),
    )


# the Start


def _start(picture: Picture, newest: SubmissionRecord) -> list[Waiting]:
    if picture.now < newest.not_before_at:
        return [_backoff(newest)]
    if any(a.object is not None for a in newest.attempts):
        return [_choice(newest, newest.attempts[-1])]
    due_at = max(newest.at, newest.not_before_at)
    if all(a.made_nothing for a in newest.attempts):
        kept = _not_called(picture, f"the Start of submission {newest.number}", due_at)
        if kept is not None:
            return [kept]
    if newest.attempts:
        return [_answer(picture, newest, newest.attempts[-1])]
    what = f"the Start of submission {newest.number} to be sent"
    return [Waiting(what=what, since=due_at, ends=(PASS,), patience=PATIENCE, momentary=True)]


def _backoff(newest: SubmissionRecord) -> Waiting:
    until = words.stamp(newest.not_before_at)
    return Waiting(
        what=f"the pause before submission {newest.number}",
        since=newest.at,
        because=(f"{newest.rule} resubmits after {words.cause_text(newest.cause)}",),
        ends=(f"at {until}",),
    )


def _choice(newest: SubmissionRecord, last: AttemptRecord) -> Waiting:
    """Named by what is to be chosen: the object is there, a Find has to show it."""
    return Waiting(
        what=f"a Find that shows the object of submission {newest.number}",
        since=last.at,
        because=(f"{words.attempts_text(newest.attempts)} made it",),
        ends=("the next Find",),
        patience=PATIENCE,
    )


def _answer(picture: Picture, newest: SubmissionRecord, last: AttemptRecord) -> Waiting:
    name = f"{last.submission}/{last.attempt}"
    if last.made_nothing:
        return Waiting(
            what=f"another try of the Start of submission {newest.number}",
            since=newest.attempts[0].at,
            because=(f"{name} did nothing: {last.detail or 'the scheduler could not be reached'}",),
            ends=("the scheduler answers",),
            can=cancel(picture.record),
            patience=PATIENCE,
        )
    unknown = last.reply is ReplyOutcome.UNKNOWN
    fact = last.detail or "no answer: it may exist" if unknown else f"sent {words.stamp(last.at)}, no answer yet"
    lands = f"no Start of it can land after {words.stamp(last.over_at)}"
    return Waiting(
        what=f"the object of {words.attempts_text(newest.attempts)}",
        since=newest.attempts[0].at,
        because=(fact,),
        ends=("a Find shows it", lands) if unknown else ("its answer", "a Find shows it", lands),
        law="L9",
    )


# the gate


def _gate(picture: Picture, held: ObjectRecord) -> list[Waiting]:
    """Why the gate of the canonical object is shut; proofs and foreign objects are waits of their own."""
    waits = [
        *_pause(picture, held),
        *_duplicates(picture, held),
        *_requeues(picture),
        *_releases(picture, held),
        *_others(picture, held),
    ]
    if waits or picture.over_runs():
        return waits
    opening = _opening(picture, held)
    return [opening] if opening is not None else []


def _pause(picture: Picture, held: ObjectRecord) -> list[Waiting]:
    """The pause of a rule that lets an object run again which is back at its gate."""
    last = picture.record.requeues[-1] if picture.record.requeues else None
    if last is None or last.object != held.ref or last.dropped or picture.now >= last.not_before_at:
        return []
    return [
        Waiting(
            what=f"the pause before {picture.called(held.ref)} runs again",
            since=last.at,
            because=(f"rule {last.rule} lets it run again after {words.execution(held, last.run)}",),
            ends=(f"at {words.stamp(last.not_before_at)}",),
        )
    ]


def _duplicates(picture: Picture, held: ObjectRecord) -> list[Waiting]:
    """Objects of the same submission that must never run (L1)."""
    return [
        Waiting(
            what=f"{picture.called(o.ref)} to be stopped, before {picture.called(held.ref)} may start",
            since=o.since,
            because=(f"a duplicate of submission {held.submission}: {_told_of(o)}",),
            ends=("its stop takes effect",),
            law="L1",
            patience=PATIENCE,
        )
        for o in picture.record.objects.values()
        if o.submission == held.submission and o.ref != held.ref and not o.accounted and not o.missing
    ]


def _told_of(held: ObjectRecord) -> str:
    retired = "retired, " if held.retired else ""
    return f"{retired}{held.phase.value if held.as_of is not None else 'not yet seen'}"


def _requeues(picture: Picture) -> list[Waiting]:
    return [
        landing(picture, c)
        for c in picture.record.calls.values()
        if c.verb is Verb.REQUEUE and not c.closed and not picture.over(c.over_at)
    ]


def landing(picture: Picture, call: CallRecord) -> Waiting:
    """A call that nobody answered and that may still take effect (L10)."""
    return Waiting(
        what=f"the {call.verb.value} of {picture.called(call.object)} to be over",
        since=call.at,
        because=(f"sent {words.stamp(call.at)}: {call.detail or 'no answer yet'}",),
        ends=("its answer", f"the scheduler's clock passes {words.stamp(call.over_at)}"),
        law="L10",
    )


def _releases(picture: Picture, held: ObjectRecord) -> list[Waiting]:
    """A lifted hold that is still on the object."""
    return [
        Waiting(
            what=f"hold {h.instance} to come off {picture.called(held.ref)}",
            since=held.since,
            because=("it was lifted, its release is not yet seen to have taken effect",),
            ends=("a Find shows it released",),
            patience=PATIENCE,
        )
        for h in picture.record.holds.values()
        if h.lifted and not h.released
    ]


def _others(picture: Picture, held: ObjectRecord) -> list[Waiting]:
    """Objects of earlier submissions that have not ended (L4)."""
    return [
        Waiting(
            what=f"{picture.called(o.ref)} to end, before {picture.called(held.ref)} may start",
            since=o.since,
            because=(f"an object of submission {o.submission}: {_told_of(o)}",),
            ends=("a Find shows it ended",),
            law="L4",
            patience=PATIENCE,
        )
        for o in picture.record.objects.values()
        if o.submission not in (None, held.submission) and not o.accounted and not o.missing
    ]


def _opening(picture: Picture, held: ObjectRecord) -> Waiting | None:
    """The Open itself: to be committed, to be answered, or to be seen."""
    name = picture.called(held.ref)
    last = open_sent(picture.record, held)
    if last is None:
        kept = _not_called(picture, f"the Open of {name}", picture.record.at)
        return kept or Waiting(
            what=f"the gate of {name} to be opened",
            since=picture.record.at,
            ends=(PASS,),
            patience=PATIENCE,
            momentary=True,
        )
    fact = f"Open sent {words.stamp(last.at)}: {_reply_of(last)}"
    detail = picture.detail.get(held.ref)
    return Waiting(
        what=f"the Open of {name} to take effect",
        since=last.at,
        because=(fact, detail) if detail else (fact,),
        ends=("a Find shows it in the queue",),
        law="L10" if last.reply is None else None,
        patience=PATIENCE,
    )


def _reply_of(call: CallRecord) -> str:
    if call.reply is None:
        return "no answer yet"
    return f"{call.reply.value}{': ' + call.detail if call.detail else ''}"


# the queue


def _queue(picture: Picture, held: ObjectRecord) -> Waiting:
    said = picture.detail.get(held.ref, "")
    nature = nature_of(said)
    record = picture.record
    facts = [said] if said else []
    facts += [_guess(picture, held)] if _guess(picture, held) else []
    ends = [ends_of(nature)]
    within = record.spec.start_within if record.spec else None
    if within is not None:
        ends.append(f"after {within}s in the queue it is stopped: never-started")
    what = (
        f"{said}, to start {picture.called(held.ref)}" if said else f"the scheduler to start {picture.called(held.ref)}"
    )
    return Waiting(
        what=what,
        nature=nature,
        since=held.since,
        because=tuple(facts),
        ends=tuple(ends),
        can=cancel(record) if nature is not Nature.BY_ITSELF else (),
    )


def _guess(picture: Picture, held: ObjectRecord) -> str:
    """What the scheduler, asked now, says of its place and its start."""
    asked = next((i for ref, i in picture.around.inspections if ref == held.ref), None)
    if asked is None:
        return ""
    told = [f"{key}: {text}" for key, text in asked.detail.items()]
    if asked.position is not None:
        told.append(f"place {asked.position} in the queue")
    if asked.estimated_start_at is not None:
        told.append(f"the scheduler guesses a start at {words.stamp(asked.estimated_start_at)}")
    return " · ".join(told)
