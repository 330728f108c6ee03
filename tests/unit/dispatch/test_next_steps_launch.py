"""Launch N: authorize, commit the attempt, choose; and what becomes of Starts that nobody answered."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from streams.messages import events
from streams.messages.events import AttemptCommitted, CanonicalChosen, SubmissionAuthorized, TargetDisposed
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import AttemptRef, Disposition, Phase, ReplyOutcome
from tests.unit.dispatch.scene import SLURM, only, situation, steps, told
from tests.unit.projections.story import CALL_BOUND_S, STOPPED, Story

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def begun(**spec: Any) -> Story:
    """Submitted, and submission 1 authorized."""
    return Story().submitted(**spec).later(1).authorized()


# authorize and commit


def test_a_submitted_job_authorizes_submission_one_under_its_single_use_key() -> None:
    event = only(SubmissionAuthorized, Story().submitted())
    assert (event.submission, event.rule, event.budget_key) == (1, "submit", "submit/1.0")
    assert told(Story().submitted()) == [("SubmissionAuthorized", Reason.FIRST_SUBMISSION)]


def test_an_attempt_is_committed_before_its_start_is_sent() -> None:
    """R2: deadline and bound are recorded with it, so that a crash after the call is no mystery."""
    story = begun()
    event = only(AttemptCommitted, story)
    assert (event.submission, event.attempt, event.call) == (1, 1, 1)
    assert (event.deadline_at, event.over_at) == (story.after(60), story.after(60 + CALL_BOUND_S))
    assert told(story) == [("AttemptCommitted", Reason.LAUNCH)]


def test_a_held_job_is_launched_to_its_gate_all_the_same() -> None:
    assert told(begun(hold="until ana has looked")) == [("AttemptCommitted", Reason.LAUNCH)]


def test_nothing_is_launched_before_the_backoff_is_over() -> None:
    story = (
        Story()
        .submitted()
        .append(
            events.SubmissionAuthorized(
                submission=1, rule="submit", budget_key="submit/1.0", not_before_at=Story().after(60)
            ),
            Reason.FIRST_SUBMISSION,
        )
    )
    assert told(story.later(59)) == []
    assert told(story.later(1)) == [("AttemptCommitted", Reason.LAUNCH)]


def test_a_read_only_cluster_gets_no_start() -> None:
    assert told(begun(), replace(SLURM, read_only=True)) == []


# look before trying again


def test_a_start_without_an_answer_is_waited_for_until_its_deadline() -> None:
    story = begun().attempt()
    assert told(story.later(59)) == []
    assert told(story.later(1)) == [("AttemptCommitted", Reason.RETRY_AFTER_UNKNOWN)]


def test_an_unknown_start_is_looked_for_before_another_is_committed() -> None:
    """R1: sbatch timed out, and the job exists: it is found by its tag, and no second one is made."""
    story = begun().attempt().later(30).replied(UNKNOWN)
    assert told(story) == [("AttemptCommitted", Reason.RETRY_AFTER_UNKNOWN)]
    story.seen((story.ref("88543"), Phase.GATED))
    assert told(story) == [("CanonicalChosen", Reason.LOWEST_ATTEMPT)]


def test_no_start_follows_one_that_was_answered_though_nothing_is_shown_yet() -> None:
    """R4: a row that is not there yet is no end."""
    story = begun().attempt()
    story.replied(object=story.ref("88543"))
    assert told(story) == []
    assert told(story.later(3600).seen(missing=(story.ref("88543"),))) == []


def test_at_most_three_starts_are_committed_for_one_submission() -> None:
    """R1, L7."""
    story = begun(unmatched=Unmatched.MANUAL)
    for attempt in (1, 2, 3):
        assert only(AttemptCommitted, story).attempt == attempt
        story.attempt(1, attempt).later(30).replied(UNKNOWN)
    assert told(story) == []
    assert told(story.later(86400)) == []


def test_a_clear_refusal_ends_the_launch_at_once() -> None:
    story = begun().attempt().later(2).replied(REFUSED, detail="invalid account")
    end = only(events.OutcomeDecided, story)
    assert end.cause.kind.value == "launch-failed"
    assert end.cause.raw == {"refusal": "invalid account"}


def test_a_start_that_certainly_did_nothing_for_now_does_not_count_and_is_tried_again() -> None:
    """An agent that was not reachable: tries do not use up `attempts_max`, and come ever less often (R21)."""
    story = begun(attempts_max=1)
    committed = 0
    began = story.at
    while (story.at - began).days < 1:
        if told(story):
            committed += 1
            assert only(AttemptCommitted, story).attempt == committed
            story.attempt(1, committed).replied(REFUSED, retry=True, detail="no way to the host")
            assert told(story) == []
        story.later(900)
    assert 50 < committed <= 96


def test_an_attempt_repeated_after_an_unreachable_host_says_so() -> None:
    story = begun().attempt().replied(REFUSED, retry=True)
    assert told(story.later(4)) == []
    assert told(story.later(2)) == [("AttemptCommitted", Reason.RETRY_AFTER_UNREACHABLE)]


# choose


def test_the_lowest_attempt_in_the_find_is_canonical_ended_ones_included() -> None:
    story = begun().attempt().later(30).replied(UNKNOWN).attempt(1, 2).later(30).replied(UNKNOWN)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    story.seen((two, Phase.GATED)).ended(one, cause=STOPPED)
    event = only(CanonicalChosen, story)
    assert (event.attempt, event.object, event.as_of) == (1, one, story.at)


def test_a_higher_attempt_is_chosen_while_a_lower_one_is_not_found() -> None:
    story = begun().attempt().later(30).replied(UNKNOWN).attempt(1, 2).later(30).replied(UNKNOWN)
    two = story.ref("88544", 1, 2)
    assert only(CanonicalChosen, story.seen((two, Phase.GATED))).object == two


def test_the_choice_is_made_once_and_a_lower_attempt_that_comes_later_is_retired() -> None:
    """L8, R1."""
    story = begun().attempt().later(30).replied(UNKNOWN).attempt(1, 2).later(30).replied(UNKNOWN)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    story.seen((two, Phase.GATED)).canonical(two, 1, 2).seen((one, Phase.GATED))
    assert told(story) == [("ObjectRetired", Reason.DUPLICATE)]
    assert only(events.ObjectRetired, story).object == one


def test_an_object_seen_ended_and_purged_before_the_choice_is_chosen_all_the_same() -> None:
    story = begun().attempt()
    one = story.ref("88543")
    story.replied(object=one).later(5).ended(one, cause=STOPPED)
    assert only(CanonicalChosen, story).object == one
    assert told(story, hides=(one,)) == [("CanonicalChosen", Reason.LOWEST_ATTEMPT)]


def test_a_foreign_object_of_the_same_name_and_id_is_never_chosen() -> None:
    """R10: an id alone proves nothing."""
    story = begun().attempt().later(30).replied(UNKNOWN)
    story.seen((story.foreign("88543"), Phase.RUNNING))
    assert told(story) == [("AttemptCommitted", Reason.RETRY_AFTER_UNKNOWN)]


def test_an_object_of_another_installation_is_never_chosen() -> None:
    """R10."""
    story = begun().attempt().later(30).replied(UNKNOWN)
    ref = story.ref("88543")
    tag = replace(story.tags[1, 1], nonce="0" * 26)
    story.seen(replace(story.look(ref, Phase.GATED), tag=tag))
    assert told(story) == [("AttemptCommitted", Reason.RETRY_AFTER_UNKNOWN)]


# give up


def unanswered(**spec: Any) -> Story:
    story = begun(**spec)
    for attempt in (1, 2, 3):
        story.attempt(1, attempt).later(30).replied(UNKNOWN)
    return story


def test_attempts_that_were_never_found_are_given_up_once_their_starts_can_no_longer_land() -> None:
    """R3: not polled for ever."""
    story = unanswered()
    assert told(story) == []
    story.later(CALL_BOUND_S + 90)
    assert told(story) == [("TargetDisposed", Reason.UNMATCHED_GIVEN_UP)] * 3
    event = steps(story)[0].event
    assert isinstance(event, TargetDisposed)
    assert (event.target, event.disposition, event.rule) == (
        AttemptRef(submission=1, attempt=1),
        Disposition.GONE,
        "unmatched",
    )


def test_a_start_that_can_still_land_is_not_given_up() -> None:
    story = unanswered().later(CALL_BOUND_S)
    given_up = [s.event.target.attempt for s in steps(story) if isinstance(s.event, TargetDisposed)]  # type: ignore[union-attr]
    assert given_up == [1, 2]


def test_nothing_is_given_up_while_another_start_may_still_follow() -> None:
    """The host cannot be reached for an hour; the attempt before that is not the submission's last word."""
    story = begun().attempt().later(30).replied(UNKNOWN).attempt(1, 2)
    for attempt in range(2, 10):
        story.replied(REFUSED, retry=True).later(600)
        if attempt < 9:
            story.attempt(1, attempt + 1)
    assert told(story) == []
    assert told(story.later(900)) == [("AttemptCommitted", Reason.RETRY_AFTER_UNREACHABLE)]


def test_under_manual_nothing_is_given_up_and_the_job_stays_stuck_for_a_person() -> None:
    """R3."""
    assert told(unanswered(unmatched=Unmatched.MANUAL).later(86400)) == []


def test_a_submission_whose_every_attempt_was_given_up_ends_as_launch_failed() -> None:
    story = unanswered().later(CALL_BOUND_S + 90)
    for attempt in (1, 2, 3):
        story.disposed(AttemptRef(submission=1, attempt=attempt), Disposition.GONE, rule="unmatched")
    end = only(events.OutcomeDecided, story)
    assert (end.cause.kind.value, end.cause.raw) == ("launch-failed", {"unmatched": "every attempt was given up"})


def test_an_object_of_a_given_up_attempt_is_retired_on_sight_and_never_chosen() -> None:
    """Closed submissions: its Start landed after all."""
    story = unanswered()
    story.disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE)
    one = story.ref("88543")
    story.later(9).seen((one, Phase.GATED))
    assert told(story) == [("ObjectRetired", Reason.CLOSED_SUBMISSION)]
    story.retired(one)
    assert told(story) == [("stop", Reason.RETIRED)]


def test_an_object_of_a_start_that_was_refused_after_all_is_retired_and_never_chosen() -> None:
    story = begun().attempt().replied(REFUSED, detail="invalid account")
    story.later(9).seen((story.ref("88543"), Phase.GATED))
    names = [name for name, _ in told(story)]
    assert names[0] == "ObjectRetired"
    assert "CanonicalChosen" not in names


def test_an_unanswered_start_beside_a_canonical_object_needs_no_word_once_it_is_over() -> None:
    story = begun().attempt().later(30).replied(UNKNOWN).attempt(1, 2).later(30).replied(UNKNOWN)
    two = story.ref("88544", 1, 2)
    story.seen((two, Phase.GATED))
    assert "TargetDisposed" not in [name for name, _ in told(story.later(CALL_BOUND_S + 90))]
    story.canonical(two, 1, 2).cancelled()
    assert "TargetDisposed" not in [name for name, _ in told(story)]


def test_an_object_of_a_closed_submission_is_retired_and_stopped_beside_the_next() -> None:
    story = unanswered()
    for attempt in (1, 2, 3):
        story.disposed(AttemptRef(submission=1, attempt=attempt), Disposition.GONE)
    story.authorized(2, "bad-node", "bad-node/1.0").seen((story.ref("88544", 1, 2), Phase.GATED))
    assert told(story)[0] == ("ObjectRetired", Reason.CLOSED_SUBMISSION)
    assert ("AttemptCommitted", Reason.LAUNCH) in told(story)


@pytest.mark.parametrize("how", [Disposition.GONE, Disposition.IGNORE])
def test_an_object_that_a_person_disposed_of_before_the_choice_takes_its_attempt_along(how: Disposition) -> None:
    story = begun().attempt()
    one = story.ref("88543")
    story.replied(object=one).later(99).seen(missing=(one,))
    assert told(story) == []
    story.disposed(one, how)
    assert told(story)[-1] == ("OutcomeDecided", Reason.GIVE_UP)
    assert situation(story).record.closed(situation(story).record.submissions[0])
