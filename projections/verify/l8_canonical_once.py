"""L8: the canonical object of a submission is committed once and never recomputed.

Judged: chosen once; chosen among what a Find has shown of that attempt, unretired; the lowest attempt among what
the latest Find shows as far as a history tells: not missing since, and not ended before (an ended object that
later Finds may have lost is no better candidate, unless the last evidence of a Find showed it and the choice was
made from that Find); and never retired, nor anything before a canonical is chosen, unless the submission or attempt is given up.
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.executions import ObjectFacts
from projections.verify.facts import Facts, Stored, SubmissionFacts
from streams.messages.events import CanonicalChosen, ObjectRetired
from streams.messages.values import Phase

LAW = "L8"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """Whether this event leaves the choice of a submission's object as it must be."""
    match stored.envelope.event:
        case CanonicalChosen() as event:
            yield from _chosen(facts, event)
        case ObjectRetired() as event:
            yield from _retired(facts, event)
        case _:
            pass


def _chosen(facts: Facts, event: CanonicalChosen) -> Iterator[str]:
    submission = facts.submission(event.submission)
    if submission is not None and submission.canonical is not None:
        yield f"submission {event.submission} already has canonical {submission.canonical.id}"
        return
    held = facts.objects.get(event.object)
    if held is None or held.look is None:
        yield f"{event.object.id} is canonical, but no Find has shown it"
        return
    if (held.submission, held.attempt) != (event.submission, event.attempt):
        yield f"{held.name} is canonical of {event.submission}/{event.attempt}, which did not make it"
    if held.retired:
        yield f"{held.name} is canonical, but it was retired"
    for other in facts.objects.values():
        if other.submission == event.submission and other.attempt < event.attempt and _shown(facts, other, event):
            yield f"{held.name} of attempt {event.attempt} is canonical, but {other.name} of {other.attempt} is shown"


def _shown(facts: Facts, other: ObjectFacts, event: CanonicalChosen) -> bool:
    look = other.look
    if look is None or other.retired or not other.counts or other.missing or look.as_of > event.as_of:
        return False
    return other.phase is not Phase.ENDED or (look.as_of == event.as_of and look.revision == facts.last_find)


def _retired(facts: Facts, event: ObjectRetired) -> Iterator[str]:
    held = facts.objects.get(event.object)
    submission = facts.submission(held.submission if held is not None else event.submission)
    if submission is None:
        return
    if submission.canonical == event.object:
        yield f"{event.object.id} is canonical and was retired"
    elif submission.canonical is None and not _given_up(facts, submission, event):
        yield f"{event.object.id} was retired before submission {submission.submission} has a canonical object"


def _given_up(facts: Facts, submission: SubmissionFacts, event: ObjectRetired) -> bool:
    attempt = facts.attempt(event.submission, event.attempt)
    return facts.closed(submission) or (attempt is not None and attempt.given_up)
