"""Committed calls, their replies, and what Finds prove of them (L7, L10)."""

from __future__ import annotations

import pytest

from projections.evolve import empty, fold
from projections.intents import start_over
from projections.record import Record
from streams.messages.reasons import Reason
from streams.messages.values import ObjectRef, Phase, ReplyOutcome, Verb
from tests.unit.projections.story import CALL_BOUND_S, NODES, STOPPED, Story, launched

DONE, REFUSED, UNKNOWN = ReplyOutcome.DONE, ReplyOutcome.REFUSED, ReplyOutcome.UNKNOWN


def folded(story: Story) -> Record:
    return fold(empty(story.tenant, story.job), story.entries)


# replies


@pytest.mark.parametrize("clear", [DONE, REFUSED])
def test_a_late_clear_reply_wins_over_an_unknown_and_stays(clear: ReplyOutcome) -> None:
    """L6."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).replied(UNKNOWN).later(60).replied(clear, detail="after all")
    call = folded(story).calls[2]
    assert (call.reply, call.detail, call.reply_revision) == (clear, "after all", story.revision)
    assert folded(story.replied(UNKNOWN)).calls[2] == call
    assert folded(story.replied(REFUSED if clear is DONE else DONE)).calls[2] == call


def test_a_late_reply_of_a_start_brings_its_object() -> None:
    story = Story().submitted().authorized().attempt().replied(UNKNOWN)
    assert [a.unmatched for a in folded(story).attempts] == [True]
    ref = story.ref("88213")
    record = folded(story.later(99).replied(object=ref))
    assert [(a.object, a.unmatched) for a in record.attempts] == [(ref, False)]
    assert (record.objects[ref].as_of, record.objects[ref].phase) == (None, Phase.UNCLEAR)


def test_a_clear_reply_of_a_start_stays() -> None:
    story = Story().submitted().authorized().attempt()
    story.replied(REFUSED, detail="invalid account").replied(object=story.ref("88213"))
    (attempt,) = folded(story).attempts
    assert (attempt.refused, attempt.object, attempt.detail) == (True, None, "invalid account")


def test_an_object_found_by_its_tag_answers_its_attempt() -> None:
    story = Story().submitted().authorized().attempt().replied(UNKNOWN)
    ref = story.ref("88213")
    (attempt,) = folded(story.seen((ref, Phase.GATED))).attempts
    assert attempt.object == ref


def test_a_reply_to_a_call_that_nobody_committed_changes_nothing() -> None:
    story, _ = launched()
    before = folded(story)
    after = folded(story.replied(call=99))
    assert (after.calls, after.submissions, after.objects) == (before.calls, before.submissions, before.objects)


def test_refused_for_now_is_not_refused_for_good() -> None:
    """R16: only the second closes a submission."""
    story = Story().submitted().authorized().attempt().replied(REFUSED, retry=True)
    (attempt,) = folded(story).attempts
    assert (attempt.refused, attempt.made_nothing, attempt.unmatched) == (False, True, False)


# over


def test_a_call_is_over_when_it_was_clearly_answered_or_the_hosts_clock_says_so() -> None:
    """L10: no safety rule reads a supervisor's clock."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0)
    call = folded(story).calls[2]
    assert not call.over(story.after(30 + CALL_BOUND_S - 1))
    assert call.over(story.after(30 + CALL_BOUND_S))
    assert not folded(story.replied(UNKNOWN)).calls[2].over(story.at)
    assert folded(story.replied(REFUSED)).calls[2].over(story.at)


def test_a_find_tells_only_of_calls_that_were_committed_and_over_before_it_was_read() -> None:
    story, ref = launched()
    before = story.revision
    story.call(Verb.OPEN, ref, run=0)
    committed = story.revision
    story.replied()
    call = folded(story).calls[2]
    assert not call.over_before(story.at, before), "committed after that read"
    assert not call.over_before(story.at, committed), "answered after that read"
    assert call.over_before(story.at, story.revision)
    assert not call.over_before(story.after(86400), before), "however late the clock"
    assert call.over_before(story.after(30 + CALL_BOUND_S), committed)


@pytest.mark.parametrize("outcome", [None, UNKNOWN, REFUSED])
def test_a_start_can_land_until_it_is_matched_clearly_refused_or_over(outcome: ReplyOutcome | None) -> None:
    story = Story().submitted().authorized().attempt()
    if outcome is not None:
        story.replied(outcome)
    (attempt,) = folded(story).attempts
    assert start_over(attempt, story.at, story.revision) is (outcome is REFUSED)
    assert start_over(attempt, attempt.over_at, story.revision)
    assert not start_over(attempt, story.at, 0), "read before the reply"


def test_closed_calls_of_a_kind_collapse_to_the_newest_and_open_ones_stay() -> None:
    """R21: thirty days of stops do not fill the record."""
    story, ref = launched()
    story.call(Verb.STOP, ref).replied().call(Verb.STOP, ref).call(Verb.STOP, ref).replied()
    calls = folded(story).calls
    assert sorted(calls) == [3, 4]
    assert [calls[n].reply for n in (3, 4)] == [None, DONE]
    assert folded(story).calls_made == 4


def test_the_tries_of_a_call_are_counted_until_something_new_is_seen() -> None:
    story, ref = launched()
    for _ in range(3):
        story.later(60).call(Verb.OPEN, ref, run=0).replied(REFUSED)
    assert folded(story).calls[4].tries == 3
    story.seen((ref, Phase.QUEUED)).call(Verb.OPEN, ref, run=0)
    assert folded(story).calls[5].tries == 1


# opened


def test_an_object_is_opened_from_its_open_until_its_next_requeue() -> None:
    story, ref = launched()
    assert not folded(story).opened(ref)
    assert folded(story.opened(ref)).opened(ref)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, run=0)
    assert not folded(story).opened(ref), "it may be at its gate"
    assert folded(story.replied(REFUSED)).opened(ref), "a refused requeue brought nothing back"


def test_an_open_that_was_refused_opened_nothing() -> None:
    """A release would open the gate that it left shut."""
    story, ref = launched()
    assert not folded(story.call(Verb.OPEN, ref, run=0).replied(REFUSED)).opened(ref)
    assert not folded(story.call(Verb.OPEN, ref, run=0).replied(REFUSED, retry=True)).opened(ref)
    assert folded(story.call(Verb.OPEN, ref, run=0).replied(UNKNOWN)).opened(ref)


def test_an_open_authorizes_the_run_it_begins_and_no_other() -> None:
    story, ref = launched()
    story.opened(ref)
    runs = folded(story).objects[ref].runs
    assert [(r.run, r.begun, r.authorized) for r in runs] == [(0, True, True)]
    runs = folded(story.later(9).running(ref, 1)).objects[ref].runs
    assert [(r.run, r.authorized) for r in runs] == [(0, True), (1, False)]


# pending requeues


def requeueing() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    story.opened(ref).later(9).running(ref)
    return story.requeue_authorized(ref, 0), ref


def test_a_requeue_is_pending_until_its_object_shows_a_later_run() -> None:
    story, ref = requeueing()
    assert folded(story).pending_requeue() is not None
    story.call(Verb.REQUEUE, ref, run=0).replied()
    assert folded(story).pending_requeue() is not None, "done, and not yet seen"
    assert folded(story.seen((ref, Phase.GATED, 1))).pending_requeue() is None


@pytest.mark.parametrize("retry", [False, True])
def test_a_refused_requeue_is_no_longer_pending_unless_it_was_refused_for_now(retry: bool) -> None:
    story, ref = requeueing()
    story.call(Verb.REQUEUE, ref, run=0).replied(REFUSED, retry=retry)
    assert (folded(story).pending_requeue() is not None) is retry


def test_a_requeue_is_not_pending_once_the_next_submission_is_authorized_or_the_job_is_over() -> None:
    story, _ = requeueing()
    assert folded(story.authorized(2, "person", "person/c-9")).pending_requeue() is None
    story, _ = requeueing()
    assert folded(story.outcome()).pending_requeue() is None


# cancel


def test_a_cancel_counts_its_first_and_its_latest_stop_by_name() -> None:
    story = Story().submitted().cancelled()
    for _ in range(3):
        story.call(Verb.STOP_JOB, reason=Reason.CANCELLED)
    cancel = folded(story).cancel
    assert cancel is not None
    assert (cancel.first, cancel.second) == (1, 3)


def test_a_cancel_of_a_job_without_objects_is_stopped_by_the_first_stops_reply() -> None:
    story = Story().submitted().cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED)
    record = folded(story.replied())
    assert record.cancel is not None
    assert (record.cancel.stopped, record.cancel.stopped_number) == (True, len(story.entries))


def test_a_cancel_is_not_stopped_by_a_reply_while_an_object_is_alive() -> None:
    story, ref = launched()
    story.cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    cancel = folded(story).cancel
    assert cancel is not None
    assert not cancel.stopped
    cancel = folded(story.later(9).ended(ref, cause=STOPPED, nodes=NODES)).cancel
    assert cancel is not None
    assert cancel.stopped
