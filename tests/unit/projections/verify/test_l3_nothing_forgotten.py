"""L3: nothing is forgotten: each settlement that forgets is found."""

from __future__ import annotations

from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import (
    Outcome,
    Phase,
    ReplyOutcome,
    Verb,
)
from tests.unit.projections.lawful import plain_success
from tests.unit.projections.story import (
    NODES,
    PREEMPTED,
    STOPPED,
    Story,
    both_gated,
    launched,
    run_once,
)
from tests.unit.projections.verify.judged import laws, only


def test_settling_while_an_object_is_not_known_to_have_ended_is_found() -> None:
    story, one, two = both_gated()
    story.canonical(one).retired(two, 1, 2).call(Verb.STOP, two, Reason.RETIRED).replied().later(9).ended(
        two, cause=STOPPED
    )
    story.opened(one).later(60).running(one).later(60).ended(one, nodes=NODES).ceased(one).outcome()
    late = story.ref("88545", 1, 2)
    story.later(9).seen((late, Phase.GATED)).later(600).settled()
    assert only(story, "L3") == "settled, but 88545 is not known to have ended"


def test_settling_before_processes_are_proven_gone_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(60).ended(ref, nodes=NODES).outcome().settled()
    assert only(story, "L3") == "settled, but processes of 88213 run 0 are not proven gone"


def test_an_open_that_was_never_seen_to_land_still_wants_proof_unless_it_was_refused() -> None:
    story, ref = launched()
    story.opened(ref).later(60).ended(ref, cause=STOPPED).outcome(Outcome.FAILED, cause=STOPPED, rule="rest").settled()
    assert only(story, "L3") == "settled, but processes of 88213 run 0 are not proven gone"
    refused, ref = launched()
    refused.call(Verb.OPEN, ref, run=0).replied(ReplyOutcome.REFUSED).later(60).ended(ref, cause=STOPPED)
    assert laws(refused.outcome(Outcome.FAILED, cause=STOPPED, rule="rest").settled()) == ()


def test_settling_over_a_foreign_object_is_found() -> None:
    story, _ = run_once()
    story.later(9).ended(story.foreign()).outcome().settled()
    assert only(story, "L3") == "settled, but nobody disposed of 90112, which no attempt of ours made"


def test_a_cancel_is_a_persons_word_on_foreign_objects_too() -> None:
    story, _ = run_once()
    story.later(9).ended(story.foreign()).cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.later(9).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied().later(9).seen().settled()
    assert laws(story) == ()


def test_settling_over_an_unmatched_attempt_is_found_where_a_persons_word_is_asked_for() -> None:
    story = Story().submitted(unmatched=Unmatched.MANUAL).later(1).authorized().attempt()
    story.later(30).replied(ReplyOutcome.UNKNOWN).attempt(1, 2)
    ref = story.later(1).made("88544", 1, 2)
    story.canonical(ref, 1, 2).opened(ref).later(60).running(ref).later(60).ended(ref, nodes=NODES).ceased(ref)
    story.outcome().later(600).settled()
    assert only(story, "L3") == "settled, but attempt 1/1 is unmatched and the job asks for a person's word"


def test_settling_over_a_submission_of_which_nothing_is_known_is_found() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(ReplyOutcome.UNKNOWN)
    story.cancelled().later(600).call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied().later(9).settled()
    assert only(story, "L3") == "settled, but every attempt of submission 1 is unknown"


def test_settling_without_an_outcome_or_without_a_find_is_found() -> None:
    story, _ = run_once()
    assert only(story.settled(), "L3") == "settled without an outcome"
    blind, _ = run_once()
    assert only(blind.outcome().settled(as_of=None), "L3") == ("settled without a Find, although the job was submitted")


def test_an_outcome_that_forgets_the_newest_submission_is_found() -> None:
    story, _ = run_once(cause=PREEMPTED)
    story.authorized(2, "preempted", "preempted/1.0", PREEMPTED)
    story.outcome(Outcome.FAILED, submission=1, cause=PREEMPTED, rule="rest")
    assert only(story, "L3") == "the outcome is submission 1's, but submission 2 is authorized"


def test_a_decision_after_settlement_is_found_and_evidence_is_not() -> None:
    story = plain_success().later(60)
    assert laws(story.ended(story.ref("88213"), 1, cause=STOPPED)) == ()
    instance = story.hold_asked()
    assert only(instance, "L3") == "HoldAsked after the job was settled at #14"
