"""What a person condemned, or told dispatch to leave alone, is not brought to run by any call of ours (L1)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dispatch.decide import Facts, Refused, decide
from streams.messages import events
from streams.messages.calls import Capabilities
from streams.messages.commands import RequeueJob
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan, hold_key
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.values import Disposition, HoldKind, HoldSeen, ObjectRef, Phase, Verb
from tests.unit.dispatch.scene import LOCAL, REQUEUES_ENDED, SLURM, calls, record_of, told
from tests.unit.projections.story import BEGIN, CRASHED, Story, launched, run_once

LEFT_TO_A_PERSON = pytest.mark.parametrize("how", [Disposition.STOP, Disposition.IGNORE], ids=lambda how: how.value)
BEGINNING = (Verb.OPEN, Verb.ADMIT, Verb.RELEASE, Verb.REQUEUE)

REQUEUE = RequeueJob(command="c-new", tenant="nlp", job="llama-7b", at=BEGIN, run=0)


def beginning(story: Story, able: Capabilities) -> list[Verb]:
    """The calls among the next steps by which an object could begin a run."""
    return [verb for verb in BEGINNING if calls(story, verb, able)]


def disposed_while_missing(story: Story, ref: ObjectRef, how: Disposition) -> Story:
    """Gone from one Find, disposed of, and to be shown again."""
    return story.later(30).seen(missing=(ref,)).later(30).disposed(ref, how).later(5)


@LEFT_TO_A_PERSON
def test_a_lifted_hold_is_not_released_where_that_opens_the_gate(how: Disposition) -> None:
    story, ref = launched()
    story.opened(ref).later(30).seen((ref, Phase.QUEUED)).later(5).hold_asked().later(1)
    story.call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2h4w",)).replied().later(30)
    story.seen(story.look(ref, Phase.GATED, hold=HoldSeen.USER))
    disposed_while_missing(story, ref, how).seen(story.look(ref, Phase.GATED, hold=HoldSeen.USER)).later(5)
    story.hold_lifted().later(5)
    assert beginning(story, SLURM) == []


@LEFT_TO_A_PERSON
@pytest.mark.parametrize("able", [REQUEUES_ENDED, LOCAL], ids=lambda able: able.kind)
def test_a_requeue_that_was_authorized_before_is_not_sent(how: Disposition, able: Capabilities) -> None:
    story, ref = launched()
    story.opened(ref).later(30).running(ref).later(5).requeue_authorized(ref, 0, rule="person", cause=None)
    disposed_while_missing(story, ref, how).running(ref).later(5)
    assert beginning(story, able) == []


@LEFT_TO_A_PERSON
def test_a_hold_now_asks_for_no_requeue_of_it(how: Disposition) -> None:
    story, ref = launched()
    story.opened(ref).later(30).running(ref)
    disposed_while_missing(story, ref, how).running(ref).later(5)
    asked = events.HoldAsked(instance="h-1", rule="person", kind=HoldKind.PERSON, now=True)
    story.append(asked, Reason.PERSON_HOLD, command="h-1", actor="ana").later(1)
    assert ("RequeueAuthorized", Reason.HOLD_NOW) not in told(story, LOCAL)


def test_an_end_of_it_is_answered_by_a_new_submission_where_the_plan_says_requeue() -> None:
    plan = RecoveryPlan(rules=(PlanRule(name="again", on=("exit-code",), do=PlanAction.REQUEUE, budget=3),))
    story, ref = run_once(Story().submitted(plan), CRASHED)
    assert told(story, LOCAL)[0] == ("RequeueAuthorized", Reason.PLAN_RULE)
    story.disposed(ref, Disposition.STOP)
    assert told(story, LOCAL)[0] == ("SubmissionAuthorized", Reason.PLAN_RULE)


@LEFT_TO_A_PERSON
def test_a_person_who_asks_for_a_requeue_of_it_is_told_to_resubmit(how: Disposition) -> None:
    story, ref = launched()
    story.opened(ref).later(30).running(ref)
    disposed_while_missing(story, ref, how).running(ref).later(5)
    answered = decide(record_of(story), REQUEUE, Facts(now=story.at, capabilities=LOCAL, actor="ana"))
    assert isinstance(answered, Refused)
    assert answered.code is RefusalCode.NO_REQUEUE
    assert answered.sentence == f"someone told dispatch to {how.value} {ref.id}: use --resubmit"


@pytest.mark.parametrize(
    "able", [replace(SLURM, requeue_of=(Phase.RUNNING, Phase.ENDED)), LOCAL], ids=["slurm", "local"]
)
@pytest.mark.parametrize("key", ["person/c-1", hold_key("h-1")], ids=["requeue", "hold-now"])
def test_a_run_that_completed_before_its_requeue_was_sent_is_the_jobs_success(able: Capabilities, key: str) -> None:
    """R9: finished training is not run again because somebody had wanted it to wait."""
    story, ref = launched()
    story.opened(ref).later(30).running(ref).later(5)
    asked = events.RequeueAuthorized(object=ref, run=0, rule="person", budget_key=key, not_before_at=story.at)
    story.append(asked, Reason.HOLD_NOW).later(1)
    assert beginning(story, able) == [Verb.REQUEUE]
    story.ended(ref).ceased(ref).later(1)
    assert told(story, able) == [("OutcomeDecided", Reason.COMPLETED)]


def test_a_requeue_of_a_run_that_has_completed_is_refused() -> None:
    story, _ = run_once()
    answered = decide(record_of(story), REQUEUE, Facts(now=story.at, capabilities=REQUEUES_ENDED, actor="ana"))
    assert isinstance(answered, Refused)
    assert (answered.code, answered.sentence) == (RefusalCode.RUN_IS_OVER, "its run has completed")
