"""When a job has to be looked at again though nothing wakes it. A timer is only a wake-up (L13, R24)."""

from __future__ import annotations

from dataclasses import replace as with_fields
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from dispatch.due import SOON, due_at
from projections.controls import Control, Controls
from streams.messages import events
from streams.messages.calls import Capabilities
from streams.messages.reasons import Reason
from streams.messages.values import AttemptRef, Cause, CauseKind, Disposition, Phase, ReplyOutcome, Verb
from tests.unit.dispatch.scene import SLURM, situation
from tests.unit.projections.story import CALL_BOUND_S, CRASHED, Story, launched, run_once

SELDOM = replace(SLURM, find_every_s=100_000)


def due_in(story: Story, able: Capabilities = SELDOM, **looks: Any) -> float:
    """Seconds until the next look, where polling alone would let a day pass."""
    at = due_at(situation(story, able, **looks))
    assert at is not None
    return (at - story.at).total_seconds()


def test_a_job_is_looked_at_at_least_as_often_as_its_cluster_is_polled() -> None:
    """R24: without any message."""
    story, ref = launched()
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).later(CALL_BOUND_S)
    assert due_at(situation(story)) == story.after(30)


def test_a_settled_job_is_left_to_the_sweep() -> None:
    story, _ = run_once()
    assert due_at(situation(story.outcome().settled())) is None


def test_a_backoff_ends_with_a_look() -> None:
    story = (
        Story()
        .submitted()
        .append(
            events.SubmissionAuthorized(
                submission=1, rule="submit", budget_key="submit/1.0", not_before_at=Story().after(90)
            ),
            Reason.FIRST_SUBMISSION,
        )
    )
    assert due_in(story.seen()) == 90


def test_a_requeues_backoff_ends_with_a_look_also_where_the_object_is_back_already() -> None:
    story, ref = run_once(cause=CRASHED)
    event = events.RequeueAuthorized(
        object=ref, run=0, rule="crash", budget_key="crash/1.0", cause=CRASHED, not_before_at=story.after(90)
    )
    assert due_in(story.append(event, Reason.PLAN_RULE)) == 90
    assert due_in(story.later(30).seen((ref, Phase.GATED, 1))) == 60


def test_a_brake_ends_with_a_look() -> None:
    story, _ = run_once(cause=CRASHED)
    brake = Controls(by_cluster={"hpc2": Control(cluster="hpc2", brake_until_at=story.after(900))})
    assert due_in(story, controls=brake) == 900


def test_the_bound_of_an_unanswered_call_ends_with_a_look() -> None:
    story, ref = launched()
    assert due_in(story.call(Verb.OPEN, ref, run=0)) == 30 + CALL_BOUND_S


def test_a_call_that_may_have_had_no_effect_is_looked_after_when_it_may_be_sent_again() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).replied()
    assert due_in(story) == 30
    assert due_in(story.later(30).running(ref)) == 100_000


def test_a_stop_that_was_refused_for_now_is_looked_after_when_it_is_sent_again() -> None:
    """R8: pods remain."""
    story, ref = launched()
    story.opened(ref).later(30).running(ref).outcome().call(Verb.STOP, ref, Reason.JOB_OVER)
    story.replied(ReplyOutcome.REFUSED, retry=True)
    assert due_in(story, replace(SLURM, watch=True, find_every_s=20)) == 20


def test_a_start_that_made_nothing_is_looked_after_when_the_next_may_follow() -> None:
    story = Story().submitted().authorized().attempt().replied(ReplyOutcome.REFUSED, retry=True)
    assert due_in(story.seen()) == 5


def test_a_run_that_has_to_begin_in_time_is_looked_after_when_that_is_over() -> None:
    """Decision 0012: a limit of seconds is kept."""
    story = Story().submitted(start_within=3).authorized().attempt()
    ref = story.made("1")
    story.canonical(ref).opened(ref).seen((ref, Phase.QUEUED)).later(1).seen((ref, Phase.QUEUED))
    assert due_in(story) == 2


def test_an_end_that_accounting_may_still_explain_is_looked_after_when_that_is_over() -> None:
    story, ref = launched()
    story.opened(ref).later(600).running(ref).ended(ref, cause=Cause(kind=CauseKind.UNKNOWN, final=False)).ceased(ref)
    assert due_in(story) == 60


def test_an_end_whose_processes_will_count_as_gone_is_looked_after_then() -> None:
    story, ref = launched()
    story.opened(ref).later(600).running(ref).ended(ref, cause=CRASHED)
    assert due_in(story, replace(SELDOM, presume_after_s=300.0)) == 300


def test_deadline_and_bound_of_an_unanswered_start_end_with_a_look() -> None:
    story = Story().submitted().authorized().attempt()
    assert due_in(story.seen()) == 60
    assert due_in(story.later(60).seen()) == CALL_BOUND_S


def test_the_bound_of_a_start_that_a_person_gave_up_ends_with_a_look_too() -> None:
    """It can still land until then, and settlement waits for that."""
    story = Story().submitted().authorized().attempt().later(60).seen()
    story.disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE)
    assert due_in(story.seen()) == CALL_BOUND_S


def test_the_hosts_times_are_told_on_our_own_clock() -> None:
    """The host is an hour behind: its deadlines are reached an hour later by its clock, not by ours."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0)
    there = situation(story, SELDOM)
    ahead: datetime = story.at + timedelta(hours=1)
    assert due_at(with_fields(there, now=ahead, asked_at=ahead)) == ahead + timedelta(seconds=30 + CALL_BOUND_S)


def test_no_look_is_due_at_once() -> None:
    """A pass never wakes itself without a pause."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).later(CALL_BOUND_S + 29.99)
    at = due_at(situation(story, SELDOM))
    assert at == story.at + SOON
