"""Requeue in place: authorized, sent once, answered; and what came back to its gate by itself."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from streams.messages.events import OutcomeDecided, RequeueAuthorized, SubmissionAuthorized
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.values import Cause, CauseKind, HoldSeen, ObjectRef, Phase, ReplyOutcome, Verb
from tests.unit.dispatch.scene import KUEUE, PLAIN, REQUEUES_ENDED, calls, only, told
from tests.unit.projections.story import (
    CALL_BOUND_S,
    COMPLETED,
    CRASHED,
    NODES,
    PREEMPTED,
    Story,
    launched,
    run_once,
)


def rule(name: str, on: tuple[str, ...], do: PlanAction = PlanAction.REQUEUE, **fields: Any) -> PlanRule:
    return PlanRule(name=name, on=on, do=do, **{"budget": 1, "backoff": Backoff(first=0), **fields})


def crash(budget: int = 1) -> PlanRule:
    return rule("crash", ("exit-code",), budget=budget)


def ended(cause: Cause, *rules: PlanRule) -> tuple[Story, ObjectRef]:
    """Submission 1 ran and ended by this cause under this plan; its processes are gone."""
    return run_once(Story().submitted(RecoveryPlan(rules=rules)), cause)


# in place


def test_a_requeue_is_authorized_where_the_cluster_can_requeue_what_ended() -> None:
    story, ref = ended(CRASHED, crash())
    event = only(RequeueAuthorized, story, REQUEUES_ENDED)
    assert (event.object, event.run, event.budget_key, event.cause) == (ref, 0, "crash/1.0", CRASHED)
    assert told(story, REQUEUES_ENDED) == [("RequeueAuthorized", Reason.PLAN_RULE)]


def test_where_the_cluster_cannot_requeue_what_ended_the_next_submission_is_authorized() -> None:
    story, _ = ended(CRASHED, crash())
    assert only(SubmissionAuthorized, story).budget_key == "crash/1.0"


def test_an_end_that_is_final_is_not_requeued() -> None:
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(crash(),))))
    story.opened(ref).later(30).running(ref).later(99).ended(ref, cause=CRASHED, nodes=NODES, end_final=True)
    assert only(SubmissionAuthorized, story.ceased(ref), REQUEUES_ENDED).submission == 2


def sent(outcome: ReplyOutcome | None, *, retry: bool = False, budget: int = 1) -> Story:
    """A requeue authorized and its call committed, with this reply."""
    story, ref = ended(CRASHED, crash(budget))
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    return story if outcome is None else story.replied(outcome, retry=retry).ended(ref, cause=CRASHED, nodes=NODES)


def test_the_requeue_call_follows_its_authorization() -> None:
    story, ref = ended(CRASHED, crash())
    story.requeue_authorized(ref, 0)
    assert told(story, REQUEUES_ENDED) == [("requeue", Reason.REQUEUE_DUE)]
    (call,) = calls(story, Verb.REQUEUE, REQUEUES_ENDED)
    assert (call.object, call.run) == (ref, 0)


def test_the_requeue_call_waits_for_the_backoff() -> None:
    story, ref = ended(CRASHED, crash())
    story.append(
        RequeueAuthorized(
            object=ref, run=0, rule="crash", budget_key="crash/1.0", cause=CRASHED, not_before_at=story.after(60)
        ),
        Reason.PLAN_RULE,
    )
    assert told(story.later(59), REQUEUES_ENDED) == []
    assert told(story.later(1), REQUEUES_ENDED) == [("requeue", Reason.REQUEUE_DUE)]


@pytest.mark.parametrize("verb", [Verb.OPEN, Verb.RELEASE])
def test_no_requeue_is_sent_while_an_open_or_release_could_open_the_gate_it_lands_in(verb: Verb) -> None:
    """A late one would start the next run without an Open of its own."""
    story, ref = ended(CRASHED, crash())
    story.call(verb, ref, run=0 if verb is Verb.OPEN else None).requeue_authorized(ref, 0)
    assert told(story, REQUEUES_ENDED) == []
    fenced = replace(REQUEUES_ENDED, fenced_calls=True)
    assert bool(told(story, fenced)) is (verb is Verb.OPEN), "a release names no run, so no fence holds it off"
    story.later(CALL_BOUND_S + 31).ended(ref, cause=CRASHED, nodes=NODES)
    assert told(story, REQUEUES_ENDED) == [("requeue", Reason.REQUEUE_DUE)]


def test_a_requeue_without_an_answer_is_not_sent_again_while_it_may_land() -> None:
    story = sent(None)
    assert told(story.later(60), REQUEUES_ENDED) == []
    story.later(CALL_BOUND_S).ended(story.ref("88213"), cause=CRASHED, nodes=NODES)
    assert told(story, REQUEUES_ENDED) == [("requeue", Reason.REQUEUE_DUE)]


def test_a_refused_requeue_is_answered_by_the_next_submission_under_a_key_that_costs_nothing() -> None:
    """One end pays once: a budget of one is enough for a requeue that is refused and the resubmit in its place."""
    story = sent(ReplyOutcome.REFUSED)
    event = only(SubmissionAuthorized, story, REQUEUES_ENDED)
    assert (event.rule, event.budget_key) == ("crash", "crash/1.0/resubmit")


def test_the_resubmit_in_place_of_a_refused_requeue_leaves_the_rest_of_the_budget() -> None:
    story = sent(ReplyOutcome.REFUSED, budget=2)
    second = next_after(story, "crash/1.0/resubmit")
    story.opened(second).later(9).running(second).later(999).ended(second, cause=CRASHED, nodes=NODES).ceased(second)
    assert told(story, REQUEUES_ENDED) == [("RequeueAuthorized", Reason.PLAN_RULE)]


def next_after(story: Story, key: str) -> ObjectRef:
    story.authorized(2, "crash", key, CRASHED).attempt(2)
    ref = story.later(1).made("88600", 2)
    story.canonical(ref, 2)
    return ref


def test_a_requeue_that_could_not_be_sent_for_now_is_sent_again() -> None:
    story = sent(ReplyOutcome.REFUSED, retry=True)
    assert told(story, REQUEUES_ENDED) == []
    assert told(story.later(30), REQUEUES_ENDED) == [("requeue", Reason.REQUEUE_DUE)]


def test_a_run_found_to_have_completed_is_not_requeued() -> None:
    """R9: accounting corrects the cause while the requeue waits; the plan's cause must still be the last one."""
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(crash(),))))
    story.opened(ref).later(30).running(ref).later(99).ended(ref, cause=replace(CRASHED, final=False), nodes=NODES)
    story.ceased(ref).later(60).requeue_authorized(ref, 0)
    assert told(story, REQUEUES_ENDED) == [("requeue", Reason.REQUEUE_DUE)]
    story.later(1).ended(ref, cause=COMPLETED, nodes=NODES)
    assert told(story, REQUEUES_ENDED) == [("OutcomeDecided", Reason.COMPLETED)]


def test_a_requeue_of_a_run_that_ended_by_itself_meanwhile_does_not_keep_the_job_waiting() -> None:
    story, ref = launched(Story().submitted(RecoveryPlan(rules=(rule("retry", ("any",), PlanAction.RESUBMIT),))))
    story.opened(ref).later(30).running(ref)
    story.requeue_authorized(ref, 0, rule="person", cause=None).later(9).ended(ref, cause=CRASHED, nodes=NODES)
    assert told(story) == [("SubmissionAuthorized", Reason.PLAN_RULE)]


def test_an_object_purged_before_its_requeue_is_answered_by_the_next_submission() -> None:
    story, ref = ended(CRASHED, crash())
    story.requeue_authorized(ref, 0)
    assert only(SubmissionAuthorized, story, REQUEUES_ENDED, hides=(ref,)).budget_key == "crash/1.0/resubmit"


# what came back to its gate by itself


def back_at_its_gate(able_run: int, cause: Cause | None, *rules: PlanRule, **look: Any) -> tuple[Story, ObjectRef]:
    story, ref = launched(Story().submitted(RecoveryPlan(rules=rules)))
    story.opened(ref, able_run).later(30).running(ref, able_run).later(99)
    if cause is not None:
        story.seen(story.look(ref, Phase.ENDING, able_run, cause=cause)).later(1)
    story.seen(story.look(ref, Phase.GATED, able_run + 1, **look)).ceased(ref, able_run)
    return story, ref


def test_a_preempted_object_that_kueue_suspended_uses_the_budget_of_its_rule() -> None:
    """R19: one use an admission."""
    preempted = rule("preempted", ("preempted",))
    story, ref = back_at_its_gate(1, PREEMPTED, preempted)
    event = only(RequeueAuthorized, story, KUEUE)
    assert (event.object, event.run, event.budget_key) == (ref, 1, "preempted/1.1")
    assert event.cause is not None
    assert event.cause.kind is CauseKind.PREEMPTED


def test_a_run_that_kueue_took_off_unseen_counts_as_preempted() -> None:
    story, _ = back_at_its_gate(1, None, rule("preempted", ("preempted",)))
    assert told(story, KUEUE) == [("RequeueAuthorized", Reason.PLAN_RULE)]


def test_an_object_that_was_suspended_by_hand_counts_as_stopped_outside() -> None:
    story, _ = back_at_its_gate(1, None, rule("preempted", ("preempted",)))
    event = only(OutcomeDecided, story, PLAIN)
    assert event.cause.kind is CauseKind.STOPPED_OUTSIDE


def test_what_failed_to_launch_and_was_held_by_slurm_is_never_opened_again_but_resubmitted() -> None:
    """R20, burrmill#15: `launch failed requeued held` is neither our gate nor our hold."""
    retry = rule("bad-node", ("launch-failed",), avoid_nodes=True)
    story, _ = back_at_its_gate(0, None, retry, hold=HoldSeen.LAUNCH_FAILED)
    event = only(SubmissionAuthorized, story)
    assert event.cause is not None
    assert event.cause.kind is CauseKind.LAUNCH_FAILED


def test_an_object_whose_ranks_had_partly_finished_is_replaced_not_run_again() -> None:
    """Ended once: a gang of which one rank is left out waits for ever."""
    preempted = rule("preempted", ("preempted",))
    story, _ = back_at_its_gate(1, PREEMPTED, preempted, ranks_done=1)
    assert only(SubmissionAuthorized, story, KUEUE).budget_key == "preempted/1.1"
