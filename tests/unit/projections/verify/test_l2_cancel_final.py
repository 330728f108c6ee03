"""L2: a committed cancel is final: each lie about that is found."""

from __future__ import annotations

import pytest

from streams.messages.reasons import Reason
from streams.messages.values import (
    Outcome,
    Verb,
)
from tests.unit.projections.story import (
    CALL_BOUND_S,
    STOPPED,
    Story,
    launched,
    run_once,
)
from tests.unit.projections.verify.judged import only


@pytest.mark.parametrize("verb", [Verb.OPEN, Verb.ADMIT, Verb.RELEASE, Verb.REQUEUE])
def test_a_call_that_lets_the_job_run_after_its_cancel_is_found(verb: Verb) -> None:
    story, ref = launched()
    story.requeue_authorized(ref, 0, "person", None) if verb is Verb.REQUEUE else story
    story.cancelled().call(verb, ref, run=0)
    assert only(story, "L2") == f"call 2 ({verb.value}) committed after the cancel of #{len(story.entries) - 1}"


def test_an_attempt_after_the_cancel_is_found() -> None:
    story = Story().submitted().later(1).authorized().cancelled().attempt()
    assert only(story, "L2") == "AttemptCommitted after the cancel of #3"


def test_a_submit_after_the_cancel_of_its_name_is_found() -> None:
    assert only(Story().cancelled().submitted(), "L2") == "JobSubmitted after the cancel of #1"


def test_a_second_outcome_is_found() -> None:
    story, _ = run_once()
    story.outcome().outcome(Outcome.SUCCEEDED)
    assert only(story, "L2") == "outcome succeeded decided, but one stands since #12"
    cancelled, _ = run_once()
    assert only(cancelled.cancelled().outcome(), "L2") == "outcome succeeded decided after the cancel of #12"


def test_a_stop_by_name_without_a_cancel_is_found() -> None:
    story, _ = launched()
    assert only(story.call(Verb.STOP_JOB, reason=Reason.CANCELLED), "L2") == (
        "call 2 (stop-job) committed, but no cancel"
    )


def test_settling_a_cancelled_job_whose_opened_object_was_not_seen_to_end_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.later(60).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied().later(9).seen().settled()
    assert only(story, "L2") == "settled, but 88213 was opened and is not known to have ended"


def test_settling_a_cancelled_job_without_the_last_stop_by_name_is_found() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.later(60).ended(ref, cause=STOPPED).later(5).ceased(ref).later(CALL_BOUND_S).settled()
    assert only(story, "L2") == "settled, but no stop by name was committed when every call that could land was over"


def test_a_cancel_behind_another_outcome_is_found() -> None:
    story, _ = run_once()
    assert only(story.outcome().cancelled(), "L2") == "cancelled, but another outcome stands since #12"
