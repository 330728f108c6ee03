"""Launch N: authorize, commit the attempt and Start, choose the canonical object, give up what never came."""

from __future__ import annotations

from datetime import datetime, timedelta

from dispatch.next_steps import calls
from dispatch.situation import Situation, Step
from projections.record import AttemptRecord, SubmissionRecord
from streams.messages.events import AttemptCommitted, CanonicalChosen, SubmissionAuthorized, TargetDisposed
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import Disposition, ObjectRef, ReplyOutcome

RETRY_FIRST = timedelta(seconds=5)
RETRY_MAX = timedelta(minutes=15)


def launch(situation: Situation) -> tuple[Step, ...]:
    """The next step of the newest submission's launch, before its gate."""
    newest = situation.newest
    if newest is None:
        return (_first(situation),)
    if newest.canonical is not None or situation.record.closed(newest):
        return ()
    shown = shown_of(situation, newest)
    if shown:
        return (_choose(situation, newest, shown),)
    reason = _start_reason(situation, newest)
    if reason is not None:
        return (_attempt(situation, newest, reason),)
    return () if _tries_left(situation, newest) else give_up(situation)


def _first(situation: Situation) -> Step:
    event = SubmissionAuthorized(submission=1, rule="submit", budget_key="submit/1.0", not_before_at=situation.now)
    return Step(event=event, reason=Reason.FIRST_SUBMISSION)


def shown_of(situation: Situation, submission: SubmissionRecord) -> list[tuple[int, ObjectRef]]:
    """Objects of a submission's attempts that this Find shows, or that ended before it, unretired, lowest first."""
    found = []
    for ref, held in situation.record.objects.items():
        if held.submission != submission.number or held.retired or held.attempt is None:
            continue
        attempt = situation.record.attempt(submission.number, held.attempt)
        shown = ref in situation.shown or held.ended or held.verified is not None
        if shown and attempt is not None and not attempt.given_up:
            found.append((held.attempt, ref))
    return sorted(found, key=lambda pair: (pair[0], pair[1].id, pair[1].created))


def _choose(situation: Situation, newest: SubmissionRecord, shown: list[tuple[int, ObjectRef]]) -> Step:
    """The lowest attempt in the latest Find, ended ones included: committed once, never recomputed (L8)."""
    attempt, ref = shown[0]
    event = CanonicalChosen(submission=newest.number, attempt=attempt, object=ref, as_of=situation.as_of)
    return Step(event=event, reason=Reason.LOWEST_ATTEMPT)


def _start_reason(situation: Situation, newest: SubmissionRecord) -> Reason | None:
    """Why another Start may be committed now, or None. Nothing of this submission is shown."""
    if situation.capabilities.read_only or situation.now < newest.not_before_at:
        return None
    if not _tries_left(situation, newest):
        return None
    if not newest.attempts:
        return Reason.LAUNCH
    last = newest.attempts[-1]
    if not all(_may_follow(situation, a) for a in newest.attempts):
        return None
    if last.made_nothing:
        return Reason.RETRY_AFTER_UNREACHABLE if situation.now >= start_again_at(newest) else None
    return Reason.RETRY_AFTER_UNKNOWN


def start_again_at(newest: SubmissionRecord) -> datetime:
    """When the Start after one that made nothing may be committed, on this side's clock."""
    tries = len([a for a in newest.attempts if a.made_nothing])
    wait: timedelta = min(RETRY_FIRST * 2 ** min(tries - 1, 8), RETRY_MAX)
    return newest.attempts[-1].at + wait


def _tries_left(situation: Situation, newest: SubmissionRecord) -> bool:
    """Whether the submission may have another Start, now or later: none was answered for good, and not all are used."""
    if any(a.refused or a.object is not None for a in newest.attempts):
        return False
    return len([a for a in newest.attempts if not a.made_nothing]) < situation.spec.attempts_max


def _may_follow(situation: Situation, attempt: AttemptRecord) -> bool:
    """A Start that was answered, or whose deadline has passed, and that this Find does not show."""
    return attempt.reply is not None or situation.as_of >= attempt.deadline_at


def _attempt(situation: Situation, newest: SubmissionRecord, reason: Reason) -> Step:
    deadline_at, over_at = calls.times(situation, situation.capabilities.start_deadline_s)
    event = AttemptCommitted(
        submission=newest.number,
        attempt=len(newest.attempts) + 1,
        call=situation.record.calls_made + 1,
        deadline_at=deadline_at,
        over_at=over_at,
    )
    return Step(event=event, reason=reason)


def give_up(situation: Situation) -> tuple[Step, ...]:
    """Attempts that were never answered nor found, once their Start can no longer land (R3).

    Only while their submission has no canonical object: beside one, a Start that is over needs no word.
    """
    if situation.spec.unmatched is Unmatched.MANUAL:
        return ()
    steps = []
    for submission in situation.record.submissions:
        if submission.canonical is not None or shown_of(situation, submission):
            continue
        for attempt in submission.attempts:
            answered = attempt.reply is not None and attempt.reply is not ReplyOutcome.UNKNOWN
            if answered or not attempt.unmatched or situation.as_of < attempt.over_at:
                continue
            event = TargetDisposed(
                target=attempt.ref,
                disposition=Disposition.GONE,
                rule="unmatched",
                as_of=situation.as_of,
            )
            steps.append(Step(event=event, reason=Reason.UNMATCHED_GIVEN_UP))
    return tuple(steps)
