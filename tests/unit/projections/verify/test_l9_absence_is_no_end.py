"""L9: what is merely absent has not ended: each decision that says so is found."""

from __future__ import annotations

from streams.messages.reasons import Reason
from streams.messages.values import (
    AttemptRef,
    Cause,
    CauseKind,
    Disposition,
    Outcome,
    Phase,
    ReplyOutcome,
    StopBasis,
    Verb,
)
from tests.unit.projections.story import (
    CRASHED,
    PREEMPTED,
    Story,
    both_gated,
    launched,
    run_once,
)
from tests.unit.projections.verify.judged import laws, only

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def test_a_stop_verified_by_absence_alone_is_found() -> None:
    story, _, two = both_gated()
    story.later(60).seen(missing=(two,)).verified(two)
    assert only(story, "L9").startswith("88544 is verified stopped by absence alone")


def test_a_stop_without_a_clear_reply_verifies_nothing() -> None:
    story, one, two = both_gated()
    story.canonical(one).retired(two, 1, 2).call(Verb.STOP, two, Reason.RETIRED).replied(UNKNOWN)
    assert only(story.later(60).seen(missing=(two,)).verified(two), "L9").startswith("88544 is verified stopped by")


def test_a_stop_verified_while_the_object_is_still_shown_is_found() -> None:
    story, one, two = both_gated()
    story.canonical(one).retired(two, 1, 2).call(Verb.STOP, two, Reason.RETIRED).replied().later(9).verified(two)
    assert only(story, "L9") == "88544 is verified stopped as absent, but the latest Find shows it"


def test_a_stop_verified_by_processes_that_nobody_proved_gone_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(60).seen(missing=(ref,)).verified(ref, 0, StopBasis.PROCESSES_GONE)
    assert only(story, "L9") == "88213 is verified stopped, but its processes are not proven gone"


def test_an_outcome_from_an_object_that_is_merely_absent_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(60).seen(missing=(ref,))
    story.outcome(Outcome.FAILED, cause=Cause(kind=CauseKind.UNKNOWN), rule="rest")
    assert only(story, "L9") == "failed decided, but 88213 is absent"


def test_success_of_a_run_that_was_seen_to_fail_is_found() -> None:
    story, _ = run_once(cause=CRASHED)
    assert only(story.outcome(), "L9") == "succeeded, but the run was seen to end by exit-code"


def test_the_next_submission_by_a_rule_while_the_last_is_merely_absent_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(60).seen(missing=(ref,))
    story.authorized(2, "preempted", "preempted/1.0", PREEMPTED)
    assert only(story, "L9") == "submission 2 authorized, but 88213 is absent"


def test_no_reply_taken_for_not_created_is_found() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(600).replied(UNKNOWN)
    story.authorized(2, "bad-node", "bad-node/1.0")
    assert only(story, "L9") == (
        "submission 2 authorized, but an attempt of submission 1 is neither refused nor disposed of"
    )


def test_a_requeue_by_a_rule_of_a_run_that_was_not_seen_to_end_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).requeue_authorized(ref, 0)
    assert only(story, "L9") == "requeue of 88213 authorized by rule crash, but no end of its run 0 was seen"


def test_giving_up_an_attempt_that_made_an_object_is_found() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(UNKNOWN)
    story.later(9).seen((story.ref("88213"), Phase.GATED)).later(600)
    story.disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE, "unmatched", as_of=story.at)
    assert only(story, "L9") == "attempt 1/1 was given up as unmatched, but it made 88213"


def test_calling_gone_what_the_latest_find_shows_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).disposed(ref, Disposition.GONE)
    assert only(story, "L9") == "88213 was called gone, but the latest Find shows it"


def test_an_end_of_what_was_never_recorded_is_found() -> None:
    story, _ = launched()
    assert only(story.verified(story.foreign()), "L9") == "90112 is verified stopped, but nothing was recorded of it"
    given, _ = launched()
    given.disposed(AttemptRef(submission=1, attempt=3), Disposition.GONE, "unmatched", as_of=given.at)
    assert only(given, "L9") == "attempt 1/3 was given up, but never committed"


def test_a_run_that_came_back_to_its_gate_under_a_higher_number_has_ended() -> None:
    story = Story("bert-2").submitted().later(1).authorized().attempt()
    ref = story.ref("bert-2")
    story.replied(object=ref).later(9).seen((ref, Phase.GATED, 1)).canonical(ref).opened(ref, 1)
    story.later(60).running(ref, 1).later(60).seen((ref, Phase.GATED, 2)).ceased(ref, 1)
    assert laws(story.authorized(2, "preempted", "preempted/1.1", PREEMPTED)) == ()
