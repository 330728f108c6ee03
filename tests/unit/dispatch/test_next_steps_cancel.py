"""Cancel: stop by name at once, and once more when nothing can land any more (L2)."""

from __future__ import annotations

import pytest

from streams.messages.calls import Capabilities
from streams.messages.events import CallCommitted
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import CessationBasis, ObjectRef, Phase, ReplyOutcome, StopBasis, Verb
from tests.unit.dispatch.scene import LOCAL, calls, record_of, steps, told
from tests.unit.projections.story import CALL_BOUND_S, NODES, STOPPED, Story, launched

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED
OVER = CALL_BOUND_S + 61


def running() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    return story.opened(ref).later(30).running(ref).later(5), ref


def stopped_once(story: Story, ref: ObjectRef) -> Story:
    """Cancelled, the first stop by name done, the object seen ended and proven gone."""
    story.cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    return story.later(40).ended(ref, cause=STOPPED, nodes=NODES).ceased(ref).later(1)


def test_a_cancel_stops_by_name_at_once_and_each_object_that_is_shown() -> None:
    """R8: everything opened is stopped."""
    story, ref = running()
    assert told(story.cancelled()) == [("stop", Reason.JOB_OVER), ("stop-job", Reason.CANCELLED)]
    (by_name,) = calls(story, Verb.STOP_JOB)
    assert by_name.object is None
    (one,) = calls(story, Verb.STOP)
    assert one.object == ref


def test_a_cancel_stops_by_name_even_where_nothing_is_known() -> None:
    """R8: what raced with it is found by its name."""
    story = Story().submitted().cancelled()
    assert told(story) == [("stop-job", Reason.CANCELLED)]


def test_after_a_cancel_nothing_is_authorized_launched_or_opened() -> None:
    """L2."""
    allowed = {"stop", "stop-job", "ObjectRetired", "StopVerified", "TargetDisposed", "JobSettled"}
    for story in (
        Story().submitted(),
        Story().submitted().authorized(),
        Story().submitted().authorized().attempt(),
        launched()[0],
        running()[0],
        launched()[0].hold_asked(),
    ):
        story.cancelled()
        for _ in range(4):
            assert {name for name, _ in told(story)} <= allowed
            story.later(300)


def test_the_second_stop_by_name_follows_once_everything_is_over() -> None:
    """R9: a requeue on its way would bring back what the first stop ended."""
    story, ref = running()
    stopped_once(story, ref)
    assert told(story) == [("stop-job", Reason.CALLS_OVER)]


@pytest.mark.parametrize("verb", [Verb.OPEN, Verb.ADMIT, Verb.RELEASE, Verb.REQUEUE])
def test_the_second_stop_waits_for_every_call_that_could_bring_a_run(verb: Verb) -> None:
    story, ref = running()
    story.call(verb, ref, run=None if verb is Verb.RELEASE else 0)
    stopped_once(story, ref)
    if verb is Verb.REQUEUE:
        story.later(1).ended(ref, cause=STOPPED, nodes=NODES)
    assert calls(story, Verb.STOP_JOB) == []
    assert [c.call for c in calls(story.later(OVER), Verb.STOP_JOB)] == [5]


def test_the_second_stop_waits_for_a_start_that_could_still_make_an_object() -> None:
    story = Story().submitted().authorized().attempt().later(5).cancelled()
    story.call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    assert calls(story, Verb.STOP_JOB) == []
    assert len(calls(story.later(OVER), Verb.STOP_JOB)) == 1


def test_the_second_stop_waits_until_the_first_was_answered_or_is_over() -> None:
    story = Story().submitted().cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED)
    assert calls(story, Verb.STOP_JOB) == []
    assert len(calls(story.later(OVER), Verb.STOP_JOB)) == 1


def test_a_second_stop_that_was_not_done_is_committed_again_with_growing_waits() -> None:
    story = Story().submitted().cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied(REFUSED, retry=True)
    assert told(story) == []
    assert told(story.later(60)) == [("stop-job", Reason.CALLS_OVER)]


def test_a_second_stop_that_was_done_is_the_last() -> None:
    story, ref = running()
    stopped_once(story, ref).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied()
    assert told(story.later(86400)) == []


# progress


def test_a_cancel_is_stopped_once_the_first_stop_is_done_and_everything_is_accounted_for() -> None:
    story, ref = running()
    story.cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied().later(5).seen()
    cancel = record_of(story).cancel
    assert cancel is not None
    assert not cancel.stopped
    cancel = record_of(story.later(40).ended(ref, cause=STOPPED)).cancel
    assert cancel is not None
    assert (cancel.stopped, cancel.complete) == (True, False)


def test_a_cancel_is_complete_only_by_a_find_begun_after_the_second_stop() -> None:
    story, ref = running()
    stopped_once(story, ref).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER)
    before = story.revision
    story.replied().seen(read_revision=before)
    cancel = record_of(story).cancel
    assert cancel is not None
    assert not cancel.complete, "that Find was read before the second stop was done"
    story.later(1).seen()
    cancel = record_of(story).cancel
    assert cancel is not None
    assert (cancel.complete, cancel.complete_number) == (True, len(story.entries))


def test_a_cancel_is_not_complete_while_any_call_can_land() -> None:
    story, ref = running()
    stopped_once(story, ref).call(Verb.STOP, ref, Reason.JOB_OVER)
    story.call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied().later(1).seen()
    cancel = record_of(story).cancel
    assert cancel is not None
    assert not cancel.complete
    story.later(OVER).seen()
    cancel = record_of(story).cancel
    assert cancel is not None
    assert cancel.complete


def test_a_cancel_is_not_complete_while_a_start_can_make_an_object() -> None:
    story = Story().submitted().authorized().attempt().replied(UNKNOWN).cancelled()
    for reason in (Reason.CANCELLED, Reason.CALLS_OVER):
        story.call(Verb.STOP_JOB, reason=reason).replied()
    cancel = record_of(story.later(1).seen()).cancel
    assert cancel is not None
    assert not cancel.complete
    cancel = record_of(story.later(OVER).seen()).cancel
    assert cancel is not None
    assert cancel.complete


def test_a_cancel_is_not_complete_while_an_object_is_only_absent() -> None:
    """L9."""
    story, ref = running()
    story.cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.later(5).seen(missing=(ref,)).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied().later(1).seen()
    cancel = record_of(story).cancel
    assert cancel is not None
    assert not cancel.complete


def test_a_cancelled_job_settles_only_when_its_cancel_is_complete() -> None:
    story, ref = running()
    stopped_once(story, ref).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied()
    assert told(story) == []
    assert told(story.later(1).seen()) == [("JobSettled", Reason.ALL_CLAUSES_HOLD)]


GONE = Capabilities(kind="gone", call_bound_s=1, holds=False, accounting=False, read_only=True, takes_stops=True)


def test_a_cancel_on_a_cluster_that_is_gone_completes_by_stops_that_a_persons_word_answers() -> None:
    story, ref = running()
    story.seen(missing=(ref,)).later(5).ceased(ref, basis=CessationBasis.OPERATOR).cancelled().later(1)
    assert ("stop-job", Reason.CANCELLED) in told(story, GONE)
    story.call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied().later(OVER)
    assert ("StopVerified", Reason.PROCESSES_GONE) in told(story, GONE)
    story.verified(ref, basis=StopBasis.PROCESSES_GONE).seen()
    assert told(story, GONE) == [("stop-job", Reason.CALLS_OVER)]
    story.call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied().later(1).seen()
    assert told(story, GONE) == [("JobSettled", Reason.ALL_CLAUSES_HOLD)]


def test_a_cluster_that_is_gone_takes_nothing_but_stops() -> None:
    assert told(Story().submitted().authorized(), GONE) == []
    story, _ = launched()
    assert told(story, GONE) == []


# what bears the name and is not ours


def test_a_cancel_is_authority_over_a_foreign_object_that_bears_the_name() -> None:
    story, _ = launched()
    other = story.foreign()
    story.seen((other, Phase.RUNNING))
    assert other not in [e.object for e in calls(story, Verb.STOP)]
    assert other in [e.object for e in calls(story.cancelled(), Verb.STOP)]


def test_an_unanswered_start_of_a_cancelled_job_is_given_up_and_manual_waits_for_a_person() -> None:
    story = Story().submitted().authorized().attempt().cancelled()
    assert ("TargetDisposed", Reason.UNMATCHED_GIVEN_UP) in told(story.later(OVER))
    manual = Story().submitted(unmatched=Unmatched.MANUAL).authorized().attempt().cancelled()
    assert "TargetDisposed" not in [name for name, _ in told(manual.later(OVER))]


def test_the_calls_of_one_pass_are_numbered_one_after_the_other() -> None:
    """Each step is decided from the record with the one before it."""
    story, ref = running()
    first = steps(story.cancelled(), LOCAL)[0].event
    assert isinstance(first, CallCommitted)
    assert (first.call, first.object) == (3, ref)
    story.call(Verb.STOP, ref, Reason.JOB_OVER)
    second = steps(story, LOCAL)[0].event
    assert isinstance(second, CallCommitted)
    assert (second.call, second.object) == (4, None)
