"""The gate after an Open that did nothing, and after a run that came back to it by itself."""

from __future__ import annotations

from streams.messages import events
from streams.messages.plan import hold_key
from streams.messages.reasons import Reason
from streams.messages.values import HoldKind, ObjectRef, Phase, ReplyOutcome, Verb
from tests.unit.dispatch.scene import KUEUE, PLAIN, opens, told
from tests.unit.projections.story import CALL_BOUND_S, CRASHED, Story, launched

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


# opened and not begun


def test_an_open_that_did_nothing_is_committed_again_once_it_is_over_with_the_same_run() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).later(9).replied(UNKNOWN)
    assert opens(story.later(CALL_BOUND_S)) == []
    assert opens(story.later(22)) == [(ref, 0)]


def test_an_undecided_admission_is_answered_by_a_new_number() -> None:
    story = Story().submitted().later(1).authorized().attempt()
    ref = story.ref("bert-s1a1")
    story.replied(object=ref).later(1).seen((ref, Phase.GATED, 1)).canonical(ref)
    story.call(Verb.OPEN, ref, run=1).later(9).replied(UNKNOWN)
    assert opens(story.later(CALL_BOUND_S + 22), PLAIN) == [(ref, 2)]


def test_an_open_that_is_refused_again_and_again_is_repeated_ever_less_often() -> None:
    """R21: thirty days of a gate that does not open stay under 200 events."""
    story, ref = launched()
    begun = story.at
    tries = 0
    while (story.at - begun).days < 30:
        if opens(story):
            story.call(Verb.OPEN, ref, run=0).replied(REFUSED, detail="Access/permission denied")
            tries += 1
        story.later(7200)
    assert 20 < tries < 60


# what came back by itself


def came_back() -> tuple[Story, ObjectRef]:
    """Run 0 is over and the object stands at its gate for run 1, and nobody ordered it."""
    story, ref = launched()
    story.opened(ref).later(30).running(ref).later(99).seen((ref, Phase.GATED, 1)).ceased(ref)
    return story, ref


def test_an_object_that_came_back_to_its_gate_by_itself_is_not_opened_on_its_own_word() -> None:
    """R7: an execution number that rises without a committed requeue is nobody's authority."""
    story, ref = came_back()
    assert opens(story) == []
    assert opens(story.requeue_authorized(ref, 0)) == [(ref, 1)]


def test_a_run_that_came_back_under_its_own_number_is_proven_gone_before_that_number_begins_again() -> None:
    """L4: the number tells nothing of whether its execution is over."""
    story, ref = launched()
    story.opened(ref).later(30).running(ref).later(99).seen((ref, Phase.GATED, 0)).requeue_authorized(ref, 0)
    assert opens(story) == []
    assert opens(story.ceased(ref)) == [(ref, 0)]


def test_the_backoff_of_a_requeue_is_over_before_the_gate_opens() -> None:
    story, ref = came_back()
    story.append(
        events.RequeueAuthorized(
            object=ref, run=0, rule="crash", budget_key="crash/1.0", not_before_at=story.after(60), cause=CRASHED
        ),
        Reason.PLAN_RULE,
    )
    assert opens(story.later(59)) == []
    assert opens(story.later(1)) == [(ref, 1)]


def test_a_run_that_would_leave_out_ranks_that_had_finished_is_never_admitted() -> None:
    story, ref = came_back()
    story.requeue_authorized(ref, 0)
    assert opens(story) == [(ref, 1)]
    story.seen(story.look(ref, Phase.GATED, 1, ranks_done=1))
    assert opens(story) == []
    assert told(story) == [("OutcomeDecided", Reason.GIVE_UP)]


# an order that came to nothing


def ordered(run: int, *, hold: bool = False) -> tuple[Story, ObjectRef]:
    """Run `run` is on, and a person ordered a requeue of it, or a hold at once."""
    story, ref = launched()
    story.opened(ref, run).later(30).running(ref, run)
    if hold:
        asked = events.HoldAsked(instance="h1", rule="person", kind=HoldKind.PERSON, now=True)
        story.append(asked, Reason.PERSON_HOLD, command="h1")
    return story, ref


def back(story: Story, ref: ObjectRef, run: int) -> Story:
    """A day later the scheduler brings the object to its gate by itself."""
    return story.later(86400).seen(story.look(ref, Phase.GATED, run)).ceased(ref, run).ceased(ref, 0)


def by_hold_now(story: Story, ref: ObjectRef) -> Story:
    intent = events.RequeueAuthorized(
        object=ref, run=0, rule="person", budget_key=hold_key("h1"), not_before_at=story.at
    )
    return story.append(intent, Reason.HOLD_NOW)


def test_a_requeue_dropped_with_its_hold_is_no_word_for_the_run_after_a_later_end() -> None:
    story, ref = ordered(0, hold=True)
    by_hold_now(story, ref).later(1).hold_lifted("h1")
    assert opens(back(story, ref, 1)) == []
    assert told(story) == [("OutcomeDecided", Reason.GIVE_UP)]


def test_a_requeue_that_was_refused_is_no_word_for_the_run_after_a_later_end() -> None:
    story, ref = ordered(0)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, run=0).replied(REFUSED, detail="Access/permission denied")
    assert opens(back(story, ref, 1)) == []
    assert told(story) == [("OutcomeDecided", Reason.GIVE_UP)]


def test_a_requeue_that_was_carried_out_or_may_have_been_is_the_word_for_the_next_run() -> None:
    for reply in (ReplyOutcome.DONE, UNKNOWN):
        story, ref = ordered(0)
        story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, run=0).replied(reply)
        assert opens(back(story, ref, 1)) == [(ref, 1)], reply


def test_a_hold_that_was_refused_is_no_word_for_the_run_after_a_later_end() -> None:
    """Kueue took its quota back by itself: that end is the plan's to answer."""
    for retry in (True, False):
        story, ref = ordered(1, hold=True)
        story.call(Verb.HOLD, ref, run=1, instances=("h1",)).replied(REFUSED, retry=retry).later(1).hold_lifted("h1")
        assert opens(back(story, ref, 1), KUEUE) == []
        assert told(story, KUEUE) == [("SubmissionAuthorized", Reason.PLAN_RULE)]


def test_a_hold_that_took_the_run_off_is_the_word_for_the_next_one_though_a_later_hold_was_refused() -> None:
    story, ref = ordered(1, hold=True)
    story.call(Verb.HOLD, ref, run=1, instances=("h1",)).replied()
    back(story, ref, 1).call(Verb.HOLD, ref, run=1, instances=("h1",)).replied(REFUSED, retry=True)
    story.hold_lifted("h1").later(120).seen(story.look(ref, Phase.GATED, 1))
    assert ("SubmissionAuthorized", Reason.PLAN_RULE) not in told(story, KUEUE)
