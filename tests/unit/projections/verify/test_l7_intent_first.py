"""L7: no call without its intent, each sent once, each key used once: each lie about that is found."""

from __future__ import annotations

from streams.messages.reasons import Reason
from streams.messages.values import (
    Phase,
    ReplyOutcome,
    Verb,
)
from tests.unit.projections.story import (
    CRASHED,
    NODES,
    PREEMPTED,
    Story,
    launched,
    next_submission,
    run_once,
)
from tests.unit.projections.verify.judged import broken, laws, only

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def test_a_reply_without_an_intent_is_found() -> None:
    story, _ = launched()
    story.replied(call=9)
    assert only(story, "L7") == f"call 9 replied, but no intent for it before r{story.revision}"


def test_two_starts_of_one_attempt_are_found() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(UNKNOWN).attempt()
    assert only(story, "L7") == "attempt 1/1 was already committed at #3"


def test_one_call_number_for_two_calls_is_found() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0, call=1)
    assert only(story, "L7") == "call 1 was already committed at #3"


def test_a_budget_key_used_twice_is_found() -> None:
    story, _ = run_once(cause=PREEMPTED)
    second = next_submission(story, 2, "preempted", PREEMPTED, "88543")
    story.opened(second).later(60).ended(second, cause=PREEMPTED, nodes=NODES).ceased(second)
    story.authorized(3, "preempted", "preempted/1.0", PREEMPTED)
    assert only(story, "L7") == "budget key preempted/1.0 was already used at #12"


def test_a_rule_used_more_often_than_its_budget_is_found() -> None:
    story, ref = run_once(cause=CRASHED)
    for run in (0, 1):
        story.requeue_authorized(ref, run).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=run).replied()
        story.later(15).seen((ref, Phase.GATED, run + 1)).opened(ref, run + 1).later(60).running(ref, run + 1)
        story.later(60).ended(ref, run + 1, cause=CRASHED, nodes=NODES).ceased(ref, run + 1)
        assert laws(story) == ()
    assert only(story.requeue_authorized(ref, 2), "L7") == "rule crash was used more often than its budget of 2"


def test_more_starts_than_the_spec_allows_are_found_and_unreachable_ones_do_not_count() -> None:
    story = Story().submitted(attempts_max=1).later(1).authorized().attempt().replied(REFUSED, retry=True)
    assert laws(story.later(30).attempt(1, 2).replied(UNKNOWN)) == ()
    assert only(story.attempt(1, 3), "L7") == "attempt 1/3 committed, but 1 is the most"


def test_two_clear_replies_that_differ_are_found_since_only_two_sends_can_give_them() -> None:
    story, ref = launched()
    story.opened(ref).replied(REFUSED)
    assert only(story, "L7") == "call 2 (open) replied refused, but it had replied otherwise: it was sent twice"
    made, _ = launched()
    made.replied(call=1, object=made.ref("88214"))
    assert "call 1 (start) replied done" in only(made, "L7")


def test_a_late_reply_after_an_unknown_and_a_stop_sent_again_are_lawful() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).replied(UNKNOWN).replied().cancelled()
    story.call(Verb.STOP, ref, Reason.JOB_OVER).replied().replied(REFUSED)
    assert laws(story) == ()


def test_a_second_submit_is_found() -> None:
    assert only(Story().submitted().submitted(), "L7") == "the job was submitted twice"


def test_a_stop_may_not_be_answered_before_it_was_committed_either() -> None:
    story, ref = launched()
    story.cancelled().replied(call=2).call(Verb.STOP, ref, Reason.JOB_OVER)
    assert [(law, number) for law, number, _ in broken(story)] == [("L7", 8)]
