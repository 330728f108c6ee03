"""L10: a late call never undoes a newer decision: each decision that came too early is found."""

from __future__ import annotations

from datetime import timedelta

import pytest

from streams.messages.reasons import Reason
from streams.messages.values import (
    AttemptRef,
    Disposition,
    ReplyOutcome,
    Verb,
)
from tests.unit.projections.story import (
    CALL_BOUND_S,
    NODES,
    Story,
    launched,
)
from tests.unit.projections.verify.judged import laws, only

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def test_a_call_over_before_its_deadline_is_found() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0, over_at=story.after(29))
    assert only(story, "L10") == "call 2 is said to be over before its deadline"


def test_settling_while_a_call_may_still_land_is_found() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).replied(UNKNOWN).later(60).running(ref).later(60)
    story.ended(ref, nodes=NODES).ceased(ref).outcome().settled()
    assert only(story, "L10") == "settled while call 2 (open) may still land"


def test_a_call_is_over_by_the_hosts_clock_not_by_the_writers() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).replied(UNKNOWN).later(60).running(ref).later(60)
    story.ended(ref, nodes=NODES).ceased(ref).outcome()
    host = story.at
    story.later(CALL_BOUND_S + 60).settled(as_of=host)
    assert only(story, "L10") == "settled while call 2 (open) may still land"


def test_the_last_stop_by_name_before_an_open_can_no_longer_land_is_found() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.later(60).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER)
    assert only(story, "L10") == "the last stop by name was committed while call 2 (open) may still land"


def test_a_new_hold_while_a_call_of_an_earlier_one_may_land_is_found() -> None:
    story, ref = launched()
    story.opened(ref).hold_asked("c-1").call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-1",))
    story.hold_lifted("c-1").hold_asked("c-2").call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2",))
    assert only(story, "L10") == "hold c-2 was committed while call 3 (hold) may still land"


def test_a_release_while_another_hold_is_in_force_is_found() -> None:
    story, ref = launched()
    story.opened(ref).hold_asked("c-1").call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-1",)).replied()
    story.hold_asked("c-2").hold_lifted("c-1").call(Verb.RELEASE, ref, Reason.HOLD_LIFTED, instances=("c-1",))
    assert only(story, "L10") == "call 4 (release) committed while hold c-2 is in force"


def test_giving_up_an_attempt_whose_start_may_still_land_is_found() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(UNKNOWN)
    story.disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE, "unmatched", as_of=story.at)
    assert only(story, "L10") == "attempt 1/1 was given up while its Start may still land"


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_call_whose_bound_is_its_deadline_is_lawful_and_earlier_is_not(seconds: int) -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0, deadline_at=story.after(30), over_at=story.after(30) - timedelta(seconds=seconds))
    assert laws(story) == (("L10",) if seconds else ())
