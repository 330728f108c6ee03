"""What follows an end: success, a retry by the plan, a hold for a person, or giving up."""

from __future__ import annotations

from dispatch.next_steps import calls, ends
from dispatch.next_steps.calls import Aim
from dispatch.next_steps.ends import End
from dispatch.situation import Situation, Step
from projections.record import HoldRecord, RequeueIntent
from streams.messages.events import HoldAsked, OutcomeDecided, RequeueAuthorized, SubmissionAuthorized
from streams.messages.plan import PERSON, RESUBMIT_INSTEAD, RULE_HOLD, PlanAction, PlanRule, WhenSpent
from streams.messages.reasons import Reason
from streams.messages.values import CauseKind, HoldKind, Outcome, Phase, Verb


def recover(situation: Situation) -> tuple[Step, ...]:
    """The step that answers the newest submission's end, if it has one that is not answered yet."""
    end = ends.end_of(situation)
    if end is None:
        return ()
    if end.cause.kind is CauseKind.COMPLETED:
        return (_outcome(end, Outcome.SUCCEEDED, "completed", Reason.COMPLETED),)
    asked = _rule_hold(situation, end)
    if asked is not None:
        return _after_hold(situation, asked, end)
    rule, spent = ends.rule_for(situation, end.cause, end.key)
    if rule is None:
        return (_outcome(end, Outcome.FAILED, "none", Reason.GIVE_UP),)
    return (_spent(end, rule),) if spent else _by_rule(situation, end, rule)


def _outcome(end: End, outcome: Outcome, rule: str, reason: Reason) -> Step:
    event = OutcomeDecided(outcome=outcome, submission=end.submission, cause=end.cause, rule=rule)
    return Step(event=event, reason=reason)


def _spent(end: End, rule: PlanRule) -> Step:
    if rule.when_spent is WhenSpent.HOLD:
        return _hold(end, rule, Reason.BUDGET_SPENT)
    return _outcome(end, Outcome.FAILED, rule.name, Reason.BUDGET_SPENT)


def _instance(end: End) -> str:
    return f"{RULE_HOLD}{end.submission}-{end.run}"


def _hold(end: End, rule: PlanRule, reason: Reason) -> Step:
    event = HoldAsked(instance=_instance(end), rule=rule.name, kind=HoldKind.RULE)
    return Step(event=event, reason=reason)


def _rule_hold(situation: Situation, end: End) -> HoldRecord | None:
    """The hold that a rule asked for because of this very end."""
    return situation.record.holds.get(_instance(end))


def _after_hold(situation: Situation, asked: HoldRecord, end: End) -> tuple[Step, ...]:
    """Lifting the hold that a rule asked for authorizes N+1, as a person's order."""
    if not asked.lifted:
        return ()
    event = SubmissionAuthorized(
        submission=end.submission + 1,
        rule=PERSON,
        budget_key=f"person/{asked.lifted_by or asked.instance}",
        cause=end.cause,
        avoid_nodes=situation.newest.avoid_nodes if situation.newest else (),
        not_before_at=situation.now,
    )
    return (Step(event=event, reason=Reason.RULE_HOLD_LIFTED),)


def _by_rule(situation: Situation, end: End, rule: PlanRule) -> tuple[Step, ...]:
    if rule.do is PlanAction.GIVE_UP:
        return (_outcome(end, Outcome.FAILED, rule.name, Reason.GIVE_UP),)
    if rule.do is PlanAction.HOLD:
        return (_hold(end, rule, Reason.PLAN_RULE),)
    if ends.fails_fast(situation, end):
        return (_outcome(end, Outcome.FAILED, rule.name, Reason.FAST_FAIL),)
    if situation.controls.retries_wait(situation.spec.cluster, situation.now) is not None:
        return ()
    if rule.do is PlanAction.REQUEUE and _can_requeue(situation, end, rule):
        return (_requeue(situation, end, rule),)
    return _resubmit(situation, end, rule)


def _can_requeue(situation: Situation, end: End, rule: PlanRule) -> bool:
    """In place only where the object is back at its gate or the cluster can bring it there.

    Never where a requeue of this end was refused, where ranks that had finished would be left out, or where somebody
    else's hold is on it, which no Open of ours lifts.
    """
    held = situation.canonical
    if held is None or held.off_limits or held.end_final or ends.has_paid(situation, rule, end.key):
        return False
    if held.ranks_done or held.hold in ends.STRANGE_HOLDS:
        return False
    if ends.came_back(situation, held) is not None:
        return True
    able = Phase.ENDED in situation.capabilities.requeue_of
    return able and situation.phase(held.ref) is Phase.ENDED


def _requeue(situation: Situation, end: End, rule: PlanRule) -> Step:
    assert end.object is not None
    event = RequeueAuthorized(
        object=end.object,
        run=end.run,
        rule=rule.name,
        budget_key=f"{rule.name}/{end.key}",
        cause=end.cause,
        not_before_at=situation.now + ends.wait_of(situation, rule),
    )
    return Step(event=event, reason=Reason.PLAN_RULE)


def _resubmit(situation: Situation, end: End, rule: PlanRule) -> tuple[Step, ...]:
    """N+1. An end that paid for a requeue which came to nothing has this instead, under a key that costs nothing."""
    key = f"{rule.name}/{end.key}"
    if ends.has_paid(situation, rule, end.key):
        key = f"{key}{RESUBMIT_INSTEAD}"
    event = SubmissionAuthorized(
        submission=end.submission + 1,
        rule=rule.name,
        budget_key=key,
        cause=end.cause,
        avoid_nodes=ends.avoided(situation, rule, end),
        not_before_at=situation.now + ends.wait_of(situation, rule),
    )
    return (Step(event=event, reason=Reason.PLAN_RULE),)


def requeue_call(situation: Situation) -> tuple[Step, ...]:
    """The call of a requeue that was authorized and not carried out."""
    intent = situation.record.pending_requeue()
    held = situation.canonical
    if intent is None or held is None or situation.now < intent.not_before_at:
        return ()
    if not ends.sendable(situation, held, intent) or not _requeue_free(situation, intent):
        return ()
    return (calls.call(situation, Aim(Verb.REQUEUE, held.ref, intent.run), Reason.REQUEUE_DUE),)


def _requeue_free(situation: Situation, intent: RequeueIntent) -> bool:
    """No late Open or release may open the gate it lands in, unless calls are fenced by execution.

    A release names no run where it begins none, so it is never fenced.
    """
    opening = (Verb.RELEASE,) if situation.capabilities.fenced_calls else (Verb.OPEN, Verb.ADMIT, Verb.RELEASE)
    if not calls.over(situation, intent.object, *opening):
        return False
    earlier = situation.record.newest_call(intent)
    return earlier is None or calls.may_repeat(situation, earlier)
