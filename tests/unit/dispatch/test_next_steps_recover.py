"""What follows an end: success, a retry by the plan, a hold for a person, or giving up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from projections.controls import Control, Controls
from streams.messages import events
from streams.messages.events import HoldAsked, OutcomeDecided, SubmissionAuthorized
from streams.messages.plan import Backoff, FastFail, PlanAction, PlanRule, RecoveryPlan, WhenSpent
from streams.messages.reasons import Reason
from streams.messages.values import Cause, CauseKind, Disposition, HoldKind, ObjectRef, Phase, ReplyOutcome
from tests.unit.dispatch.scene import only, told
from tests.unit.projections.story import (
    COMPLETED,
    CRASHED,
    NODES,
    PREEMPTED,
    STOPPED,
    Story,
    launched,
    next_submission,
    run_once,
)

NODE_LOST = Cause(kind=CauseKind.NODE_LOST, nodes=("n15",))
LAUNCH_FAILED = Cause(kind=CauseKind.LAUNCH_FAILED)


def rule(name: str = "retry", on: tuple[str, ...] = ("any",), **fields: Any) -> PlanRule:
    given = {"do": PlanAction.RESUBMIT, "budget": 1, **fields}
    return PlanRule(name=name, on=on, **given)


def ended(cause: Cause, *rules: PlanRule) -> tuple[Story, ObjectRef]:
    """Submission 1 ran and ended by this cause under this plan; its processes are gone."""
    return run_once(Story().submitted(RecoveryPlan(rules=rules)), cause)


# outcomes


def test_a_completed_run_is_the_jobs_success() -> None:
    story, _ = ended(COMPLETED, rule())
    assert told(story) == [("OutcomeDecided", Reason.COMPLETED)]
    assert only(OutcomeDecided, story).outcome.value == "succeeded"


def test_an_end_that_no_rule_names_fails_the_job_with_its_typed_cause() -> None:
    story, _ = ended(CRASHED, rule(on=("preempted",)))
    event = only(OutcomeDecided, story)
    assert (event.outcome.value, event.rule, event.cause) == ("failed", "none", CRASHED)
    assert told(story) == [("OutcomeDecided", Reason.GIVE_UP)]


def test_a_rule_that_gives_up_is_named_in_the_outcome() -> None:
    story, _ = ended(CRASHED, rule("rest", do=PlanAction.GIVE_UP))
    assert only(OutcomeDecided, story).rule == "rest"


@pytest.mark.parametrize("cause", [STOPPED, Cause(kind=CauseKind.COMPLETED)])
def test_any_is_all_but_completed_and_stopped(cause: Cause) -> None:
    story, _ = ended(cause, rule())
    assert told(story)[0][0] == "OutcomeDecided"


def test_out_of_memory_with_exit_code_zero_is_no_success() -> None:
    """R18: the cause decides, whatever the exit code says."""
    story, _ = ended(Cause(kind=CauseKind.OUT_OF_MEMORY, exit_code=0), rule("rest", do=PlanAction.GIVE_UP))
    assert only(OutcomeDecided, story).outcome.value == "failed"


def test_a_running_job_is_given_no_outcome() -> None:
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(rule(),))))
    assert told(story.opened(ref).later(30).running(ref)) == []


def test_an_object_that_a_person_ignores_is_not_taken_for_an_end() -> None:
    """What follows it is theirs to say: another submission, or a cancel."""
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(rule(),))))
    story.opened(ref).later(30).running(ref).later(9).seen(missing=(ref,)).disposed(ref, Disposition.IGNORE)
    assert told(story.later(86400)) == []
    assert told(story.authorized(2, "person", "person/c-9")) == [("AttemptCommitted", Reason.LAUNCH)]


def test_absence_is_never_an_end() -> None:
    """R4, L9: not shown, not accounted for."""
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(rule(),))))
    story.opened(ref).later(30).running(ref).later(9).seen(missing=(ref,))
    assert told(story.later(86400)) == []


def test_preempted_is_an_end_where_the_object_shows_it_ended_and_none_while_it_is_ending() -> None:
    """R17: neither taken as final too early, nor waited for for ever."""
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(rule(on=("preempted",)),))))
    story.opened(ref).later(30).running(ref).later(60)
    story.seen(story.look(ref, Phase.ENDING, cause=PREEMPTED))
    assert told(story.later(3600)) == []
    story.ended(ref, cause=PREEMPTED, nodes=NODES)
    assert told(story) == [("SubmissionAuthorized", Reason.PLAN_RULE)]


# rules in order


def test_the_first_rule_that_names_the_cause_decides() -> None:
    story, _ = ended(
        CRASHED, rule("bad-node", on=("node-lost",)), rule("crash", on=("exit-code",)), rule("rest", on=("any",))
    )
    assert only(SubmissionAuthorized, story).rule == "crash"


def test_a_rule_with_exit_codes_answers_those_alone() -> None:
    story, _ = ended(CRASHED, rule("seven", on=("exit-code",), exit_codes=(7,)), rule("three", exit_codes=(3,)))
    assert only(SubmissionAuthorized, story).rule == "three"


def test_one_end_pays_for_one_retry() -> None:
    """The key is the execution that ended, and is used once (L7)."""
    story, _ = ended(CRASHED, rule("crash", budget=5))
    event = only(SubmissionAuthorized, story)
    assert (event.submission, event.budget_key, event.cause) == (2, "crash/1.0", CRASHED)
    story.authorized(2, "crash", "crash/1.0", CRASHED)
    assert told(story) == [("AttemptCommitted", Reason.LAUNCH)]


def test_preemption_has_a_budget_of_its_own() -> None:
    """R19: it does not burn the failure budget."""
    plan = RecoveryPlan(rules=(rule("preempted", on=("preempted",), budget=2), rule("crash", on=("exit-code",))))
    story, _ = run_once(Story().submitted(plan), PREEMPTED)
    second = next_submission(story, 2, "preempted", PREEMPTED, "88600")
    story.opened(second).later(9).running(second).later(99).ended(second, cause=CRASHED, nodes=NODES).ceased(second)
    event = only(SubmissionAuthorized, story)
    assert (event.submission, event.rule) == (3, "crash")


def spent(**fields: Any) -> Story:
    """The second end of a rule with a budget of one; `fields` are the rule's."""
    plan = RecoveryPlan(rules=(rule("crash", on=("exit-code",), **fields), rule("rest", do=PlanAction.HOLD)))
    story, _ = run_once(Story().submitted(plan), CRASHED)
    second = next_submission(story, 2, "crash", CRASHED, "88600")
    story.opened(second).later(9).running(second).later(999).ended(second, cause=CRASHED, nodes=NODES).ceased(second)
    return story


def test_a_spent_budget_fails_the_job_and_says_so() -> None:
    assert told(spent()) == [("OutcomeDecided", Reason.BUDGET_SPENT)]


def test_a_spent_rule_may_hold_the_job_for_a_person() -> None:
    story = spent(when_spent=WhenSpent.HOLD)
    assert told(story) == [("HoldAsked", Reason.BUDGET_SPENT)]
    event = only(HoldAsked, story)
    assert (event.instance, event.rule, event.kind) == ("rule-2-0", "crash", HoldKind.RULE)


def test_a_spent_rule_may_leave_the_end_to_the_next() -> None:
    story = spent(when_spent=WhenSpent.NEXT)
    assert only(HoldAsked, story).rule == "rest"


def test_a_budget_of_zero_never_retries() -> None:
    story, _ = ended(CRASHED, rule("crash", budget=0))
    assert told(story) == [("OutcomeDecided", Reason.BUDGET_SPENT)]


def test_each_use_of_a_rule_waits_longer_up_to_the_most() -> None:
    plan = RecoveryPlan(rules=(rule("crash", budget=9, backoff=Backoff(first=30, factor=4, max=100)),))
    story, _ = run_once(Story().submitted(plan), CRASHED)
    waits = []
    for number in (2, 3, 4):
        waits.append(only(SubmissionAuthorized, story).not_before_at - story.at)
        ref = next_submission(story, number, "crash", CRASHED, f"8860{number}")
        story.opened(ref).later(9).running(ref).later(999).ended(ref, cause=CRASHED, nodes=NODES).ceased(ref)
    assert waits == [timedelta(seconds=30), timedelta(seconds=100), timedelta(seconds=100)]


def test_the_nodes_concerned_are_avoided_and_stay_avoided() -> None:
    avoiding = rule("bad-node", on=("node-lost",), budget=5, avoid_nodes=True)
    story, _ = ended(NODE_LOST, avoiding)
    assert only(SubmissionAuthorized, story).avoid_nodes == ("n15",)
    story.append(replace(only(SubmissionAuthorized, story), not_before_at=story.at), Reason.PLAN_RULE).attempt(2)
    second = story.later(1).made("88600", 2)
    story.canonical(second, 2).opened(second).later(9).running(second).later(999)
    story.ended(second, cause=replace(NODE_LOST, nodes=("n14",)), nodes=NODES).ceased(second)
    assert only(SubmissionAuthorized, story).avoid_nodes == ("n15", "n14")


def test_a_rule_that_avoids_nothing_leaves_the_nodes_alone() -> None:
    story, _ = ended(NODE_LOST, rule("bad-node", on=("node-lost",)))
    assert only(SubmissionAuthorized, story).avoid_nodes == ()


def test_at_most_sixty_four_nodes_are_avoided_and_the_oldest_goes() -> None:
    nodes = tuple(f"n{number}" for number in range(70))
    story, _ = ended(replace(NODE_LOST, nodes=nodes), rule(avoid_nodes=True))
    assert only(SubmissionAuthorized, story).avoid_nodes == nodes[6:]


# what was not known yet


def test_an_end_that_accounting_may_still_correct_waits_a_minute() -> None:
    """R11: accounting down or late does not stop the job, nor is it guessed for at once."""
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(rule(),))))
    story.opened(ref).later(30).running(ref).later(99).ended(ref, cause=replace(CRASHED, final=False), nodes=NODES)
    assert told(story.later(59)) == []
    assert told(story.later(1)) == [("SubmissionAuthorized", Reason.PLAN_RULE)]


# controls


def test_the_kill_switch_stops_a_retry_and_nothing_else() -> None:
    stopped = Controls(by_cluster={"": Control(retries=False)})
    story, _ = ended(CRASHED, rule("crash", on=("exit-code",)))
    assert told(story, controls=stopped) == []
    assert told(story) == [("SubmissionAuthorized", Reason.PLAN_RULE)]
    done, _ = ended(COMPLETED)
    assert told(done, controls=stopped) == [("OutcomeDecided", Reason.COMPLETED)]
    given_up, _ = ended(CRASHED, rule("rest", do=PlanAction.GIVE_UP))
    assert told(given_up, controls=stopped) == [("OutcomeDecided", Reason.GIVE_UP)]


def test_the_brake_lets_retries_wait_until_its_time() -> None:
    """R14."""
    story, _ = ended(CRASHED, rule("crash", on=("exit-code",)))
    brake = Controls(by_cluster={"hpc2": Control(cluster="hpc2", brake_until_at=story.after(900))})
    assert told(story, controls=brake) == []
    assert told(story.later(900), controls=brake) == [("SubmissionAuthorized", Reason.PLAN_RULE)]


def test_an_observed_cluster_decides_no_retry_and_another_clusters_control_does_not_bind() -> None:
    story, _ = ended(CRASHED, rule("crash", on=("exit-code",)))
    assert told(story, controls=Controls(by_cluster={"hpc2": Control(cluster="hpc2", observe=True)})) == []
    elsewhere = Controls(by_cluster={"hpc9": Control(cluster="hpc9", retries=False, observe=True)})
    assert told(story, controls=elsewhere) == [("SubmissionAuthorized", Reason.PLAN_RULE)]


# fast-fail


USUAL = FastFail()


def failing(one: str, other: str, ran_s: float = 60, exit_code: int = 3, limit: FastFail = USUAL) -> Story:
    """The job failed twice, on these nodes, each time so long after its start."""
    first = replace(CRASHED, nodes=(one,))
    plan = RecoveryPlan(rules=(rule("crash", on=("exit-code", "signal"), budget=9),), fast_fail=limit)
    story, ref = launched(Story().submitted(plan))
    story.opened(ref).later(5).running(ref).later(ran_s).ended(ref, cause=first, nodes=NODES).ceased(ref)
    again = next_submission(story, 2, "crash", first, "88600")
    story.opened(again).later(5).running(again).later(ran_s)
    second = replace(CRASHED, nodes=(other,), exit_code=exit_code)
    return story.ended(again, cause=second, nodes=NODES).ceased(again)


def test_the_same_early_exit_on_two_nodes_stops_the_retries() -> None:
    assert told(failing("n14", "n15")) == [("OutcomeDecided", Reason.FAST_FAIL)]


@pytest.mark.parametrize(
    "story",
    [
        failing("n14", "n14"),
        failing("n14", "n15", ran_s=121),
        failing("n14", "n15", exit_code=4),
        failing("n14", "n15", limit=FastFail(nodes=3)),
        failing("n14", "n15", limit=FastFail(off=True)),
    ],
    ids=["one-node", "not-early", "another-exit", "three-wanted", "off"],
)
def test_what_is_no_fast_failure_is_retried(story: Story) -> None:
    assert told(story) == [("SubmissionAuthorized", Reason.PLAN_RULE)]


# a rule's hold


def test_a_rule_that_holds_asks_once_and_waits_for_a_person() -> None:
    story, _ = ended(CRASHED, rule("oom", do=PlanAction.HOLD))
    event = only(HoldAsked, story)
    assert (event.instance, event.rule, event.kind, event.now) == ("rule-1-0", "oom", HoldKind.RULE, False)
    assert told(story) == [("HoldAsked", Reason.PLAN_RULE)]
    assert told(story.append(event, Reason.PLAN_RULE)) == []


def test_lifting_a_rules_hold_authorizes_the_next_submission_as_the_persons_order() -> None:
    story, _ = ended(CRASHED, rule("oom", do=PlanAction.HOLD))
    story.append(only(HoldAsked, story), Reason.PLAN_RULE).hold_lifted("rule-1-0")
    event = only(SubmissionAuthorized, story)
    assert (event.rule, event.budget_key, event.cause) == ("person", "person/c-3r7t", CRASHED)
    assert told(story) == [("SubmissionAuthorized", Reason.RULE_HOLD_LIFTED)]


def test_a_submission_that_came_to_nothing_is_answered_by_the_plan_too() -> None:
    plan = RecoveryPlan(rules=(rule("bad-node", on=("launch-failed",)),))
    story = Story().submitted(plan).later(1).authorized().attempt().later(2)
    story.replied(ReplyOutcome.REFUSED, detail="invalid account")
    event = only(events.SubmissionAuthorized, story)
    assert (event.submission, event.budget_key) == (2, "bad-node/1.0")
