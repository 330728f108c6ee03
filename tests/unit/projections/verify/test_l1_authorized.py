"""L1: nothing runs that the record does not authorize: each lie about that is found."""

from __future__ import annotations

from streams.messages.reasons import Reason
from streams.messages.values import (
    AttemptRef,
    Disposition,
    ObjectRef,
    Outcome,
    Phase,
    ReplyOutcome,
    Verb,
)
from tests.unit.projections.story import (
    CRASHED,
    NODES,
    PREEMPTED,
    STOPPED,
    Story,
    both_gated,
    launched,
    run_once,
)
from tests.unit.projections.verify.judged import broken, laws, only


def test_an_open_of_a_retired_duplicate_is_found() -> None:
    story, one, two = both_gated()
    story.canonical(one).retired(two, 1, 2).later(1).call(Verb.OPEN, two, run=0)
    assert only(story, "L1") == "open of 88544 committed, which is not canonical"


def test_an_open_beside_a_duplicate_that_is_not_retired_is_found() -> None:
    story, one, two = both_gated()
    story.canonical(one).later(40).ended(two, cause=STOPPED).call(Verb.OPEN, one, run=0)
    assert only(story, "L1") == "open of 88543 run 0 committed, but 88544 of the same submission is not retired"


def test_an_open_of_a_submission_that_a_newer_one_has_followed_is_found() -> None:
    story, ref = launched()
    story.later(9).authorized(2, "person", "person/c-1").call(Verb.OPEN, ref, run=0)
    assert only(story, "L1") == "open of 88213 committed, but submission 2 is the newest"


def test_an_open_while_a_hold_is_in_force_is_found() -> None:
    story, ref = launched()
    story.hold_asked().call(Verb.OPEN, ref, run=0)
    assert only(story, "L1") == "open of 88213 run 0 committed while hold c-2h4w is in force"


def test_an_open_under_a_hold_that_lies_on_the_object_beside_its_gate_is_lawful() -> None:
    story, ref = launched()
    story.hold_asked().call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2h4w",)).replied()
    assert laws(story.later(9).call(Verb.OPEN, ref, run=0)) == ()


def test_a_job_submitted_held_is_not_opened_before_its_hold_is_lifted() -> None:
    story, ref = launched(Story().submitted(hold="look first"))
    lifted, _ = launched(Story().submitted(hold="look first"))
    assert "hold c-8k2m is in force" in only(story.call(Verb.OPEN, ref, run=0), "L1")
    assert laws(lifted.hold_lifted("c-8k2m").call(Verb.OPEN, ref, run=0)) == ()


def test_an_open_of_an_object_that_has_ended_is_found() -> None:
    story, ref = launched()
    story.later(60).ended(ref, cause=STOPPED).call(Verb.OPEN, ref, run=0)
    assert only(story, "L1") == "open of 88213 run 0 committed, but 88213 has ended and no requeue of it was committed"


def test_an_open_after_the_outcome_is_found() -> None:
    story, ref = run_once(cause=CRASHED)
    story.outcome(Outcome.FAILED, cause=CRASHED, rule="rest").later(9).seen((ref, Phase.GATED, 1))
    assert only(story.call(Verb.OPEN, ref, run=1), "L1") == "open of 88213 committed after the outcome of #12"


def test_opening_the_run_that_already_runs_without_leave_is_found() -> None:
    story, ref = launched()
    story.later(9).running(ref).call(Verb.OPEN, ref, run=0)
    assert only(story, "L1") == "open of 88213 run 0 committed, which already ran without leave since #7"


def test_an_attempt_of_a_submission_that_nobody_authorized_is_found() -> None:
    assert only(Story().submitted().attempt(), "L1") == ("attempt 1/1 committed, but submission 1 was never authorized")


def test_an_attempt_of_a_submission_that_was_given_up_is_found() -> None:
    story = Story().submitted().later(1).authorized().attempt().replied(ReplyOutcome.REFUSED).attempt(1, 2)
    assert only(story, "L1") == "attempt 1/2 committed, but submission 1 is given up"


def test_an_object_of_a_submission_that_was_given_up_is_never_chosen() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(500).replied(ReplyOutcome.UNKNOWN)
    story.disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE, "unmatched", as_of=story.at)
    story.later(60).seen((story.ref("88213"), Phase.GATED)).canonical(story.ref("88213"))
    assert only(story, "L1") == "an object of submission 1 was chosen, which is given up"


def test_a_rule_that_the_plan_does_not_have_authorizes_nothing() -> None:
    story, _ = run_once(cause=PREEMPTED)
    assert only(story.authorized(2, "bonus", "bonus/1.0", PREEMPTED), "L1") == (
        "submission 2 authorized by rule 'bonus', which the plan does not have"
    )


def test_a_submission_out_of_turn_is_found() -> None:
    story, _ = run_once(cause=PREEMPTED)
    assert only(story.authorized(3, "preempted", "preempted/1.0", PREEMPTED), "L1") == (
        "submission 3 authorized, but the newest is 1"
    )


def test_a_requeue_that_nobody_authorized_is_found() -> None:
    story, ref = run_once(cause=CRASHED)
    assert only(story.call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0), "L1") == (
        "requeue of 88213 run 0 committed, which nobody authorized"
    )


def test_a_foreign_object_is_stopped_by_nobody_but_a_person() -> None:
    story, _ = launched()
    stranger = story.foreign()
    story.later(9).seen((stranger, Phase.RUNNING))
    assert only(story.call(Verb.STOP, stranger, Reason.RETIRED), "L1") == (
        "stop of 90112 committed, which is foreign and which no person said to stop"
    )


def stray_duplicate() -> tuple[Story, ObjectRef]:
    """The job has run and is over; a late duplicate of it was released by hand and runs."""
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(ReplyOutcome.UNKNOWN).attempt(1, 2)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    story.later(2).replied(object=two).later(9).seen((two, Phase.GATED)).canonical(two, 1, 2).opened(two)
    story.later(60).running(two).later(100).ended(two, nodes=NODES).later(5).ceased(two).later(20)
    story.running(one).retired(one).outcome()
    return story, one


def test_a_run_without_a_committed_open_that_nobody_stops_is_found() -> None:
    story, _ = stray_duplicate()
    story.later(600).settled()
    assert broken(story) == [
        ("L1", 14, "88543 run 0 ran without a committed open and no stop of it followed"),
    ]


def test_a_run_without_a_committed_open_is_found_before_settlement_once_five_later_finds_let_it_go_on() -> None:
    story, ref = launched()
    story.later(9).running(ref)
    for number in range(5):
        assert laws(story) == ()
        instance = f"c-{number}"
        story.hold_asked(instance).later(900).call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=(instance,))
        story.replied()
    assert [(law, number) for law, number, _ in broken(story)] == [("L1", 7)]


def test_a_run_without_a_committed_open_that_ended_before_anybody_could_stop_it_is_lawful() -> None:
    story, one = stray_duplicate()
    story.later(60).ended(one, nodes=("n15",)).later(5).ceased(one).later(600).settled()
    assert laws(story) == ()


def test_a_requeue_of_what_may_not_run_again_is_found() -> None:
    story, one, two = both_gated()
    story.canonical(one).retired(two, 1, 2).requeue_authorized(two, 0, "person", None)
    assert only(story, "L1") == "requeue of 88544 authorized, which is not canonical of the newest submission"
    final, ref = launched()
    final.opened(ref).later(60).ended(ref, cause=CRASHED, nodes=NODES, end_final=True).ceased(ref)
    assert only(final.requeue_authorized(ref, 0), "L1") == "requeue of 88213 authorized, whose end is final"


def test_an_attempt_of_a_submission_that_a_newer_one_has_followed_is_found() -> None:
    story, _ = run_once(cause=PREEMPTED)
    story.authorized(2, "preempted", "preempted/1.0", PREEMPTED).attempt(1, 2)
    assert only(story, "L1") == "attempt 1/2 committed, but submission 2 is the newest"


def test_a_submission_of_a_job_that_nobody_submitted_is_found() -> None:
    assert only(Story().authorized(), "L1") == "submission 1 authorized for a job that was never submitted"


def test_an_adopted_object_may_go_on_running() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(ReplyOutcome.UNKNOWN)
    stranger = story.foreign()
    story.later(9).running(stranger).disposed(stranger, Disposition.ADOPT, submission=1, attempt=1, as_of=story.at)
    story.later(9).running(stranger).canonical(stranger).later(60).ended(stranger, nodes=NODES).ceased(stranger)
    assert laws(story.outcome().settled()) == ()
