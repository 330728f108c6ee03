"""Every reason a decision can carry is reached by a scene of its own, and so is every code that refuses one.

A reason or code that is added without a scene fails here; one that no scene can reach any more has to go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dispatch.decide import Decided, Facts, Refused, decide
from dispatch.replica.braking import Braking
from streams import subjects
from streams.messages import commands, events
from streams.messages.calls import Capabilities
from streams.messages.commands import Command, IfUnknown
from streams.messages.events import Entry, Envelope, Quarantined
from streams.messages.plan import FastFail, PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.values import (
    AttemptRef,
    Cause,
    Disposition,
    HoldKind,
    MessageRef,
    NodeAttested,
    ObjectRef,
    Phase,
    ReplyOutcome,
    Verb,
)
from tests.driver import Driver
from tests.unit.dispatch.scene import PLAIN, REQUEUES_ENDED, SLURM, record_of, told
from tests.unit.projections.story import (
    BEGIN,
    CALL_BOUND_S,
    COMPLETED,
    CRASHED,
    NODES,
    Story,
    launched,
    next_submission,
    run_once,
    spec,
)

FIELDS: dict[str, Any] = {"command": "c-new", "tenant": "nlp", "job": "llama-7b", "at": BEGIN}
UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED
OVER = CALL_BOUND_S + 61

Scene = Callable[[], set[Reason]]


def steps(story: Story, able: Capabilities = SLURM) -> set[Reason]:
    """The reasons of the steps that may be taken now."""
    return {reason for _, reason in told(story, able)}


def order(story: Story, command: Command) -> set[Reason]:
    """The reason of what this command becomes."""
    decided = decide(record_of(story), command, Facts(now=story.at, capabilities=SLURM, actor="ana"))
    assert isinstance(decided, Decided), decided
    return {decided.reason} if decided.reason is not None else set()


def running() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    return story.opened(ref).later(30).running(ref).later(60), ref


def queued() -> tuple[Story, ObjectRef]:
    story, ref = launched(Story().submitted(start_within=60))
    return story.opened(ref).later(5).seen((ref, Phase.QUEUED)), ref


def ended(do: PlanAction, budget: int = 1) -> tuple[Story, ObjectRef]:
    rules = (PlanRule(name="again", on=("any",), do=do, budget=budget),)
    return run_once(Story().submitted(RecoveryPlan(rules=rules)), CRASHED)


def twice() -> tuple[Story, ObjectRef, ObjectRef]:
    """Two attempts of one submission, both found; the lower is canonical."""
    story = Story().submitted().authorized().attempt().later(30).replied(UNKNOWN).attempt(1, 2).replied(UNKNOWN)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    return story.seen((one, Phase.GATED), (two, Phase.GATED)).canonical(one), one, two


def unanswered() -> Story:
    return Story().submitted(attempts_max=1).authorized().attempt().replied(UNKNOWN)


def held_by_a_rule() -> Story:
    story, _ = ended(PlanAction.HOLD)
    return story.append(events.HoldAsked(instance="rule-1-0", rule="again", kind=HoldKind.RULE), Reason.PLAN_RULE)


def placed() -> Story:
    story, ref = queued()
    story.hold_asked().call(Verb.HOLD, ref, instances=("c-2h4w",)).replied().later(5).seen((ref, Phase.GATED))
    return story


def hold_now() -> Story:
    story, _ = running()
    return story.append(events.HoldAsked(instance="h", rule="person", kind=HoldKind.PERSON, now=True))


def requeue_due() -> Story:
    story, ref = ended(PlanAction.REQUEUE)
    return story.requeue_authorized(ref, 0, rule="again")


def closed() -> Story:
    story = unanswered().disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE)
    return story.seen((story.ref("88543"), Phase.GATED))


def again_by_a_person() -> Story:
    story, _ = running()
    return story.authorized(2, "person", "person/c-9")


def on_kubernetes() -> Story:
    story, ref = launched()
    return story.opened(ref, 1).later(9).running(ref, 1).later(9).ended(ref, 1, CRASHED, nodes=NODES)


def cancelled_once() -> Story:
    return Story().submitted().cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()


def stopped_and_gone() -> Story:
    story, ref = running()
    return story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER).replied().later(9).seen(missing=(ref,)).ceased(ref)


def absent_and_gone() -> Story:
    story, ref = running()
    return story.seen(missing=(ref,)).ceased(ref)


def failing_fast() -> Story:
    rules = (PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=9),)
    story, ref = launched(Story().submitted(RecoveryPlan(rules=rules, fast_fail=FastFail())))
    for number, node in ((1, "n14"), (2, "n15")):
        if number == 2:
            ref = next_submission(story, 2, "again", CRASHED, "88600")
        cause = Cause(kind=CRASHED.kind, exit_code=3, nodes=(node,))
        story.opened(ref).later(5).running(ref).later(9).ended(ref, cause=cause, nodes=NODES).ceased(ref)
    return story


def foreign() -> tuple[Story, ObjectRef]:
    story, _ = launched()
    return story.seen((story.foreign(), Phase.QUEUED)), story.foreign()


def disposed_stop() -> Story:
    story, other = foreign()
    return story.disposed(other, Disposition.STOP)


SCENES: dict[Reason, Scene] = {
    Reason.SUBMITTED: lambda: order(Story(), commands.SubmitJob(**FIELDS, spec=spec())),
    Reason.FIRST_SUBMISSION: lambda: steps(Story().submitted()),
    Reason.PLAN_RULE: lambda: steps(ended(PlanAction.RESUBMIT)[0]),
    Reason.PERSON_RESUBMIT: lambda: (
        order(running()[0], commands.RequeueJob(**FIELDS, run=0, resubmit=True)) & steps(again_by_a_person())
    ),
    Reason.PERSON_REQUEUE: lambda: order(running()[0], commands.RequeueJob(**FIELDS, run=0)),
    Reason.HOLD_NOW: lambda: steps(hold_now()),
    Reason.RULE_HOLD_LIFTED: lambda: steps(held_by_a_rule().hold_lifted("rule-1-0")),
    Reason.LAUNCH: lambda: steps(Story().submitted().authorized()),
    Reason.RETRY_AFTER_UNKNOWN: lambda: steps(Story().submitted().authorized().attempt().later(60)),
    Reason.RETRY_AFTER_UNREACHABLE: lambda: steps(
        Story().submitted().authorized().attempt().replied(REFUSED, retry=True).later(9)
    ),
    Reason.LOWEST_ATTEMPT: lambda: steps(found_gated()),
    Reason.DUPLICATE: lambda: steps(twice()[0]),
    Reason.CLOSED_SUBMISSION: lambda: steps(closed()),
    Reason.GATE_FREE: lambda: steps(launched()[0]),
    Reason.HOLD_IN_FORCE: lambda: steps(queued()[0].hold_asked()),
    Reason.HOLD_LIFTED: lambda: steps(placed().hold_lifted()),
    Reason.REQUEUE_DUE: lambda: steps(requeue_due(), REQUEUES_ENDED),
    Reason.RETIRED: lambda: steps(twice()[0].retired(twice()[2], 1, 2)),
    Reason.JOB_OVER: lambda: steps(running()[0].outcome()),
    Reason.UNAUTHORIZED_RUN: lambda: steps(run_by_hand()),
    Reason.DISPOSED_STOP: lambda: steps(disposed_stop()),
    Reason.START_WITHIN: lambda: steps(queued()[0].later(60)),
    Reason.CAN_RUN_AGAIN: lambda: steps(on_kubernetes(), PLAIN),
    Reason.CANCELLED: lambda: steps(Story().submitted().cancelled()),
    Reason.CALLS_OVER: lambda: steps(cancelled_once()),
    Reason.PERSON_HOLD: lambda: order(running()[0], commands.HoldJob(**FIELDS)),
    Reason.PERSON_RELEASE: lambda: order(running()[0].hold_asked(), commands.ReleaseJob(**FIELDS)),
    Reason.PERSON_CANCEL: lambda: order(running()[0], commands.CancelJob(**FIELDS)),
    Reason.CANCEL_OF_UNKNOWN: lambda: order(Story(), commands.CancelJob(**FIELDS, if_unknown=IfUnknown.RECORD)),
    Reason.COMPLETED: lambda: steps(run_once(cause=COMPLETED)[0]),
    Reason.GIVE_UP: lambda: steps(ended(PlanAction.GIVE_UP)[0]),
    Reason.BUDGET_SPENT: lambda: steps(ended(PlanAction.RESUBMIT, budget=0)[0]),
    Reason.FAST_FAIL: lambda: steps(failing_fast()),
    Reason.PERSON_DISPOSED: lambda: order(
        foreign()[0], commands.Dispose(**FIELDS, target=foreign()[1], disposition=Disposition.STOP)
    ),
    Reason.UNMATCHED_GIVEN_UP: lambda: steps(unanswered().later(OVER)),
    Reason.STOP_DONE_AND_ABSENT: lambda: steps(stopped_and_gone()),
    Reason.PROCESSES_GONE: lambda: steps(absent_and_gone()),
    Reason.ALL_CLAUSES_HOLD: lambda: steps(run_once()[0].outcome()),
    Reason.PERSON_CONTROLS: lambda: order(
        Story(job="_controls"), commands.SetControls(**{**FIELDS, "job": "_controls"}, retries=commands.Retries.OFF)
    ),
}


def found_gated() -> Story:
    story = Story().submitted().authorized().attempt()
    return story.seen((story.ref("88213"), Phase.GATED))


def run_by_hand() -> Story:
    story, ref = launched()
    return story.running(ref)


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.BRAKE_TRIPPED])
def test_every_reason_is_reached(reason: Reason) -> None:
    assert reason in SCENES, f"{reason} has no scene: give it one, or remove it"
    assert reason in SCENES[reason]()


async def test_the_reason_of_a_brake_is_reached_by_many_ends_in_one_instant() -> None:
    """R14."""
    driver = Driver()
    await driver.submit("sleep 3; exit 3")
    await driver.until(lambda d: d.phase is Phase.ENDED)
    braking = Braking(driver.hands, lambda _: True)
    for entry in await driver.entries():
        for number in range(12):
            await braking.seen(
                Entry(
                    tenant=entry.tenant,
                    job=f"job-{number}",
                    revision=entry.revision,
                    stored_at=driver.at,
                    content=entry.content,
                )
            )
    (control,) = await driver.bus.history.read("nlp", subjects.CONTROLS)
    assert isinstance(control.content, Envelope)
    assert control.content.reason is Reason.BRAKE_TRIPPED


# refusals


def refuse(story: Story, command: Command, able: Capabilities | None = SLURM) -> RefusalCode:
    answered = decide(record_of(story), command, Facts(now=story.at, capabilities=able, actor="ana"))
    assert isinstance(answered, Refused), answered
    return answered.code


def dispose(story: Story, target: Any, how: Disposition) -> RefusalCode:
    return refuse(story, commands.Dispose(**FIELDS, target=target, disposition=how))


def no_requeue() -> Capabilities:
    return Capabilities(kind="slurm", call_bound_s=30)


REQUEUE_PLAN = RecoveryPlan(rules=(PlanRule(name="again", on=("any",), do=PlanAction.REQUEUE, budget=1),))
FROM_THE_CODEC = {
    RefusalCode.INVALID_SPEC,
    RefusalCode.MALFORMED,
    RefusalCode.SUBJECT_DIFFERS,
    RefusalCode.UNKNOWN_VERB,
    RefusalCode.TOO_LARGE,
}
REFUSALS: dict[RefusalCode, Callable[[], RefusalCode]] = {
    RefusalCode.SPEC_DIFFERS: lambda: refuse(Story().submitted(), commands.SubmitJob(**FIELDS, spec=spec(nodes=8))),
    RefusalCode.UNKNOWN_CLUSTER: lambda: refuse(Story(), commands.SubmitJob(**FIELDS, spec=spec()), None),
    RefusalCode.PLAN_UNSUPPORTED: lambda: refuse(
        Story(), commands.SubmitJob(**FIELDS, spec=spec(), plan=REQUEUE_PLAN), no_requeue()
    ),
    RefusalCode.NO_SUCH_JOB: lambda: refuse(Story(), commands.CancelJob(**FIELDS)),
    RefusalCode.JOB_CANCELLED: lambda: refuse(Story().cancelled(), commands.SubmitJob(**FIELDS, spec=spec())),
    RefusalCode.OUTCOME_DECIDED: lambda: refuse(running()[0].outcome(), commands.CancelJob(**FIELDS)),
    RefusalCode.INSTANCE_USED: lambda: refuse(running()[0].hold_asked(), commands.HoldJob(**FIELDS, instance="c-2h4w")),
    RefusalCode.NOTHING_TO_LIFT: lambda: refuse(running()[0], commands.ReleaseJob(**FIELDS)),
    RefusalCode.RUN_IS_OVER: lambda: refuse(run_once()[0], commands.RequeueJob(**FIELDS, run=0)),
    RefusalCode.OTHER_RUN: lambda: refuse(running()[0], commands.RequeueJob(**FIELDS, run=7)),
    RefusalCode.NO_REQUEUE: lambda: refuse(running()[0], commands.RequeueJob(**FIELDS, run=0), no_requeue()),
    RefusalCode.NO_HOLD_NOW: lambda: refuse(running()[0], commands.HoldJob(**FIELDS, now=True), no_requeue()),
    RefusalCode.TARGET_UNKNOWN: lambda: dispose(running()[0], MessageRef(revision=7), Disposition.IGNORE),
    RefusalCode.TARGET_NOT_DISPOSABLE: lambda: dispose(*running(), Disposition.GONE),
    RefusalCode.STILL_ALIVE: lambda: dispose(*foreign(), Disposition.GONE),
    RefusalCode.NO_ATTEMPT_TO_ADOPT: lambda: dispose(*foreign(), Disposition.ADOPT),
    RefusalCode.NODE_NOT_WAITED_FOR: lambda: refuse(
        running()[0],
        commands.AttestNodeOff(**FIELDS, node="n14", state=NodeAttested.OFF, object=running()[1], run=0),
    ),
    RefusalCode.NO_CHANGE: lambda: refuse(
        Story(job="_controls"), commands.SetControls(**{**FIELDS, "job": "_controls"}, observe=False)
    ),
    RefusalCode.COMMAND_ID_USED: lambda: refuse(
        Story().submitted(), commands.CancelJob(**{**FIELDS, "command": "c-8k2m"})
    ),
    RefusalCode.DECISIONS_STOPPED: lambda: refuse(
        Story().submitted().strange(Quarantined(why="not JSON")), commands.CancelJob(**FIELDS)
    ),
}


@pytest.mark.parametrize("code", [code for code in RefusalCode if code not in FROM_THE_CODEC])
def test_every_code_that_refuses_a_decision_is_reached(code: RefusalCode) -> None:
    assert code in REFUSALS, f"{code} has no scene: give it one, or remove it"
    assert REFUSALS[code]() is code
