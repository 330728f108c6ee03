"""L9: no reply never means "not created"; what is merely absent has not ended.

Judged: what is verified stopped, what ended a submission, a requeue or the job, what is given up as unmatched and
what a person called gone, against what was seen of it. A person's resubmit may follow any state, so it is judged
by no end.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from projections.verify.executions import ObjectFacts
from projections.verify.facts import Facts, Stored, SubmissionFacts
from projections.verify.l1_authorized import PERSON, SUBMIT
from streams.messages.events import (
    OutcomeDecided,
    RequeueAuthorized,
    StopVerified,
    SubmissionAuthorized,
    TargetDisposed,
)
from streams.messages.values import (
    AttemptRef,
    CauseKind,
    Disposition,
    ObjectRef,
    Outcome,
    Phase,
    ReplyOutcome,
    StopBasis,
    Verb,
)

LAW = "L9"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """What this event takes for ended, or for never made, without having seen it."""
    match stored.envelope.event:
        case StopVerified() as event:
            yield from _stop(facts, event)
        case SubmissionAuthorized(submission=number, rule=rule) if number > 1 and rule not in (SUBMIT, PERSON):
            yield from _ended(facts, facts.submission(number - 1), f"submission {number} authorized", ending=True)
        case RequeueAuthorized(object=ref, run=run, rule=rule) if rule != PERSON:
            held = facts.objects.get(ref)
            if held is not None and not _end_seen(held, run, ending=True):
                yield f"requeue of {ref.id} authorized by rule {rule}, but no end of its run {run} was seen"
        case OutcomeDecided() as event:
            yield from _ended(facts, facts.submission(event.submission), f"{event.outcome.value} decided", ending=False)
            yield from _succeeded(facts, event)
        case TargetDisposed(target=ObjectRef() as ref, disposition=Disposition.GONE, as_of=as_of):
            held = facts.objects.get(ref)
            if held is not None and held.shown and held.phase is not Phase.UNCLEAR and not _looked_again(held, as_of):
                yield f"{ref.id} was called gone, but the latest Find shows it"
        case TargetDisposed(target=AttemptRef() as named, rule="unmatched"):
            attempt = facts.attempt(named.submission, named.attempt)
            if attempt is None:
                yield f"attempt {named.submission}/{named.attempt} was given up, but never committed"
            elif attempt.objects:
                yield f"attempt {attempt.name} was given up as unmatched, but it made {attempt.objects[0].id}"
        case _:
            pass


def _stop(facts: Facts, event: StopVerified) -> Iterator[str]:
    held = facts.objects.get(event.object)
    if held is None:
        yield f"{event.object.id} is verified stopped, but nothing was recorded of it"
        return
    if event.basis is StopBasis.PROCESSES_GONE:
        if held.unproven or not any(run.words for run in held.runs.values()):
            yield f"{held.name} is verified stopped, but its processes are not proven gone"
        return
    stops = [
        call
        for call in facts.calls_on(held.ref, Verb.STOP)
        if call.reply is ReplyOutcome.DONE and 0 < held.first_number < call.number
        if call.as_of is None or event.as_of >= call.as_of
    ]
    if not stops:
        yield f"{held.name} is verified stopped by absence alone: no stop of it was replied done after it was seen"
    elif held.shown:
        yield f"{held.name} is verified stopped as absent, but the latest Find shows it"


def _looked_again(held: ObjectFacts, as_of: datetime | None) -> bool:
    """A command's own Find may lack what the last recorded one showed; what it lacked is not recorded."""
    return as_of is not None and held.look is not None and as_of > held.look.as_of


def _end_seen(held: ObjectFacts, run: int, *, ending: bool) -> bool:
    """The end of this run was seen, or a person or a verified stop answers for the object."""
    if held.verified or held.run > run or held.disposition in (Disposition.GONE, Disposition.IGNORE):
        return True
    seen = held.runs.get(run)
    return seen is not None and (seen.ended or (ending and seen.ending_seen))


def _present(held: ObjectFacts) -> int:
    """The run whose end counts: at its gate under a higher number, an object's earlier run is over."""
    earlier = [run for run in held.runs if run < held.run]
    return max(earlier) if held.phase is Phase.GATED and earlier else held.run


def _ended(facts: Facts, submission: SubmissionFacts | None, what: str, *, ending: bool) -> Iterator[str]:
    if submission is None:
        return
    if submission.canonical is None:
        if any(attempt.counted and not attempt.hopeless for attempt in submission.attempts):
            yield f"{what}, but an attempt of submission {submission.submission} is neither refused nor disposed of"
        return
    held = facts.objects.get(submission.canonical)
    if held is None or not _end_seen(held, _present(held), ending=ending):
        seen = "is absent" if held is None or held.missing or held.phase is None else f"is {held.phase.value}"
        yield f"{what}, but {submission.canonical.id} {seen}"


def _succeeded(facts: Facts, event: OutcomeDecided) -> Iterator[str]:
    if event.outcome is not Outcome.SUCCEEDED:
        return
    submission = facts.submission(event.submission)
    held = facts.objects.get(submission.canonical) if submission is not None and submission.canonical else None
    run = held.runs.get(_present(held)) if held is not None else None
    kinds = [cause.kind for cause in run.causes] if run is not None else []
    if kinds and CauseKind.COMPLETED not in kinds:
        yield f"succeeded, but the run was seen to end by {kinds[-1].value}"
