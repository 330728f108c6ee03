"""The gate after an Open that did nothing, and after a run that came back to it by itself."""

from __future__ import annotations

from streams.messages import events
from streams.messages.reasons import Reason
from streams.messages.values import ObjectRef, Phase, ReplyOutcome, Verb
from tests.unit.dispatch.scene import PLAIN, opens, told
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
