"""Submit, cancel, hold, release, requeue: each happens, is refused, or is the same as before."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dispatch.decide import BECOMES, Already, Decided, Facts, Refused, decide
from streams.codec import digest_of
from streams.messages import commands, events
from streams.messages.calls import Capabilities
from streams.messages.commands import (
    CancelJob,
    Command,
    HoldJob,
    IfUnknown,
    ReleaseJob,
    RequeueJob,
    SubmitJob,
)
from streams.messages.events import JobSubmitted, Quarantined
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan, default_plan
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.spec import SignalBeforeLimit, SignalName
from streams.messages.values import HoldKind, ObjectRef, Outcome, Phase, Verb
from tests.unit.dispatch.scene import KUEUE, LOCAL, PLAIN, REQUEUES_ENDED, SLURM, record_of
from tests.unit.projections.story import BEGIN, CRASHED, NODES, PLAN, Story, launched, run_once, spec

FIELDS: dict[str, Any] = {"command": "c-new", "tenant": "nlp", "job": "llama-7b", "at": BEGIN}
NO_REQUEUE = replace(SLURM, requeue_of=())


def answer(story: Story, command: Command, able: Capabilities | None = SLURM) -> Decided | Refused | Already:
    return decide(record_of(story), command, Facts(now=story.at, capabilities=able, actor="ana"))


def event(story: Story, command: Command, able: Capabilities | None = SLURM) -> Any:
    answered = answer(story, command, able)
    assert isinstance(answered, Decided), answered
    return answered.event


def code(story: Story, command: Command, able: Capabilities | None = SLURM) -> RefusalCode:
    answered = answer(story, command, able)
    assert isinstance(answered, Refused), answered
    assert answered.sentence
    return answered.code


def running() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    return story.opened(ref).later(30).running(ref).later(60), ref


# every command


def test_a_command_whose_id_is_known_is_the_same_command_typed_twice() -> None:
    story = Story().submitted()
    again = SubmitJob(**{**FIELDS, "command": "c-8k2m"}, spec=spec(nodes=8))
    assert answer(story, again) == Already(story.revision, 1)


def test_an_id_that_was_another_commands_is_refused() -> None:
    story = Story().submitted()
    assert code(story, CancelJob(**{**FIELDS, "command": "c-8k2m"})) is RefusalCode.COMMAND_ID_USED


def test_every_command_says_which_events_it_becomes() -> None:
    assert set(BECOMES) == set(Command.__args__)
    assert all(hasattr(events, name) for names in BECOMES.values() for name in names)


def test_a_message_that_nobody_can_read_stops_every_command_but_its_disposal() -> None:
    """L15."""
    story = Story().submitted().strange(Quarantined(why="not JSON"))
    for command in (CancelJob(**FIELDS), HoldJob(**FIELDS), SubmitJob(**FIELDS, spec=spec())):
        assert code(story, command) is RefusalCode.DECISIONS_STOPPED


# submit


def test_a_submit_records_spec_plan_and_digest() -> None:
    decided = answer(Story(), SubmitJob(**FIELDS, spec=spec(), plan=PLAN))
    assert decided == Decided(
        JobSubmitted(spec=spec(), plan=PLAN, digest=digest_of(spec(), PLAN)),
        Reason.SUBMITTED,
    )


@pytest.mark.parametrize(("able", "requeues"), [(NO_REQUEUE, False), (SLURM, True), (KUEUE, True), (LOCAL, True)])
def test_a_submit_without_a_plan_has_the_default_for_its_cluster(able: Capabilities, requeues: bool) -> None:
    plan = event(Story(), SubmitJob(**FIELDS, spec=spec()), able).plan
    assert plan == default_plan(requeue_preempted=requeues)


def test_the_same_spec_again_is_the_first_submit() -> None:
    first = Story().append(event(Story(), SubmitJob(**FIELDS, spec=spec())), Reason.SUBMITTED, command="c-first")
    assert answer(first, SubmitJob(**FIELDS, spec=spec())) == Already(first.revision, 1)


def test_another_spec_under_the_same_name_is_refused_and_points_at_the_first() -> None:
    story = Story().submitted()
    answered = answer(story, SubmitJob(**FIELDS, spec=spec(nodes=8)))
    assert isinstance(answered, Refused)
    assert (answered.code, answered.revision) == (RefusalCode.SPEC_DIFFERS, story.revision)


def test_a_submit_that_comes_after_a_cancel_of_its_name_is_refused() -> None:
    """R8: the cancel took effect before the job was known."""
    assert code(Story().cancelled(), SubmitJob(**FIELDS, spec=spec())) is RefusalCode.JOB_CANCELLED


def test_a_submit_to_a_cluster_that_nobody_serves_is_refused() -> None:
    assert code(Story(), SubmitJob(**FIELDS, spec=spec()), None) is RefusalCode.UNKNOWN_CLUSTER


def requeue_plan() -> RecoveryPlan:
    return RecoveryPlan(rules=(PlanRule(name="crash", on=("exit-code",), do=PlanAction.REQUEUE, budget=1),))


def test_a_plan_that_the_cluster_cannot_carry_out_is_refused_at_submit() -> None:
    submit = SubmitJob(**FIELDS, spec=spec(), plan=requeue_plan())
    assert code(Story(), submit, NO_REQUEUE) is RefusalCode.PLAN_UNSUPPORTED
    assert code(Story(), submit, replace(SLURM, read_only=True)) is RefusalCode.PLAN_UNSUPPORTED
    for able in (SLURM, LOCAL, PLAIN, KUEUE, REQUEUES_ENDED):
        assert event(Story(), submit, able).plan == requeue_plan()


@pytest.mark.parametrize(
    ("times", "path"),
    [
        ({"time_limit": 59}, "spec.time_limit"),
        ({"start_within": 59}, "spec.start_within"),
        (
            {"time_limit": 60, "signal_before_limit": SignalBeforeLimit(signal=SignalName.USR1, before=9)},
            "spec.signal_before_limit.before",
        ),
    ],
)
def test_a_time_shorter_than_the_cluster_keeps_is_refused_and_local_keeps_seconds(
    times: dict[str, Any], path: str
) -> None:
    submit = SubmitJob(**FIELDS, spec=spec(**times))
    for able in (SLURM, PLAIN, KUEUE):
        answered = answer(Story(), submit, able)
        assert isinstance(answered, Refused)
        assert answered.code is RefusalCode.INVALID_SPEC
        assert answered.sentence.startswith(f"{path}: ")
    assert isinstance(event(Story(), submit, LOCAL), JobSubmitted)


def test_a_job_is_not_submitted_held_by_an_instance_named_like_a_rules() -> None:
    submit = SubmitJob(**{**FIELDS, "command": "rule-1-0"}, spec=spec(hold="for ana"))
    assert code(Story(), submit) is RefusalCode.INSTANCE_USED
    assert event(Story(), SubmitJob(**FIELDS, spec=spec(hold="for ana"))).spec.hold == "for ana"


def test_a_name_with_a_history_and_no_submit_is_refused() -> None:
    story = Story().append(events.HoldAsked(instance="x", rule="person", kind=HoldKind.PERSON), Reason.PERSON_HOLD)
    assert code(story, SubmitJob(**FIELDS, spec=spec())) is RefusalCode.SPEC_DIFFERS


# cancel


def test_a_cancel_is_one_event_that_lifts_every_hold_and_drops_the_requeue_not_carried_out() -> None:
    story, ref = run_once(cause=CRASHED)
    story.hold_asked().hold_asked("c-other").requeue_authorized(ref, 0)
    decided = answer(story, CancelJob(**FIELDS))
    assert decided == Decided(
        events.JobCancelled(lifted=("c-2h4w", "c-other"), dropped=("crash/1.0",)), Reason.PERSON_CANCEL
    )


def test_a_cancel_does_not_drop_a_requeue_that_was_sent() -> None:
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, run=0)
    assert event(story, CancelJob(**FIELDS)).dropped == ()


def test_a_second_cancel_is_the_first() -> None:
    story = Story().submitted().cancelled()
    assert answer(story, CancelJob(**FIELDS)) == Already(story.revision, 2)


def test_a_cancel_after_another_outcome_is_refused_and_names_it() -> None:
    story, _ = run_once()
    story.outcome()
    answered = answer(story, CancelJob(**FIELDS))
    assert isinstance(answered, Refused)
    assert answered.code is RefusalCode.OUTCOME_DECIDED
    assert "succeeded" in answered.sentence


def test_a_cancel_of_a_name_never_seen_is_refused_or_recorded_as_the_command_says() -> None:
    """R8."""
    assert code(Story(), CancelJob(**FIELDS)) is RefusalCode.NO_SUCH_JOB
    recorded = answer(Story(), CancelJob(**FIELDS, if_unknown=IfUnknown.RECORD))
    assert recorded == Decided(events.JobCancelled(), Reason.CANCEL_OF_UNKNOWN)


# hold and release


def test_a_hold_is_named_by_its_command_or_as_the_person_says() -> None:
    story = Story().submitted()
    assert event(story, HoldJob(**FIELDS)) == events.HoldAsked(
        instance="c-new", rule="person", kind=HoldKind.PERSON, now=False
    )
    assert event(story, HoldJob(**FIELDS, instance="debugging")).instance == "debugging"


@pytest.mark.parametrize("instance", ["c-2h4w", "rule-1-0"])
def test_an_instance_is_used_once_and_never_named_like_a_rules(instance: str) -> None:
    story = Story().submitted().hold_asked().hold_lifted()
    assert code(story, HoldJob(**FIELDS, instance=instance)) is RefusalCode.INSTANCE_USED


@pytest.mark.parametrize(
    ("able", "allowed"),
    [(SLURM, True), (LOCAL, True), (PLAIN, True), (KUEUE, True), (NO_REQUEUE, False), (None, False)],
)
def test_a_hold_now_needs_a_cluster_that_can_end_a_run_and_keep_its_object(
    able: Capabilities | None, allowed: bool
) -> None:
    answered = answer(running()[0], HoldJob(**FIELDS, now=True), able)
    assert isinstance(answered, Decided) is allowed
    if isinstance(answered, Refused):
        assert answered.code is RefusalCode.NO_HOLD_NOW


def test_a_release_lifts_every_hold_that_a_person_asked_for_and_no_rules() -> None:
    story = Story().submitted().hold_asked().hold_asked("c-other")
    story.append(events.HoldAsked(instance="rule-1-0", rule="oom", kind=HoldKind.RULE), Reason.PLAN_RULE)
    assert event(story, ReleaseJob(**FIELDS)).instances == ("c-2h4w", "c-other")
    assert event(story, ReleaseJob(**FIELDS, instances=("rule-1-0",))).instances == ("rule-1-0",)


def test_a_release_of_what_is_not_in_force_is_refused() -> None:
    story = Story().submitted()
    assert code(story, ReleaseJob(**FIELDS)) is RefusalCode.NOTHING_TO_LIFT
    assert code(story.hold_asked().hold_lifted(), ReleaseJob(**FIELDS)) is RefusalCode.NOTHING_TO_LIFT
    assert code(story, ReleaseJob(**FIELDS, instances=("c-2h4w",))) is RefusalCode.NOTHING_TO_LIFT


# requeue


def test_a_requeue_of_the_run_in_progress_uses_no_rules_budget() -> None:
    story, ref = running()
    decided = answer(story, RequeueJob(**FIELDS, run=0))
    assert isinstance(decided, Decided)
    assert decided.reason is Reason.PERSON_REQUEUE
    assert decided.event == events.RequeueAuthorized(
        object=ref, run=0, rule="person", budget_key="person/c-new", not_before_at=story.at
    )


def test_a_requeue_of_another_run_than_the_person_saw_is_refused() -> None:
    assert code(running()[0], RequeueJob(**FIELDS, run=1)) is RefusalCode.OTHER_RUN
    assert code(running()[0], RequeueJob(**FIELDS, run=1, resubmit=True)) is RefusalCode.OTHER_RUN


def test_a_requeue_on_a_cluster_that_has_none_is_refused_and_a_resubmit_is_not() -> None:
    story, _ = running()
    assert code(story, RequeueJob(**FIELDS, run=0), NO_REQUEUE) is RefusalCode.NO_REQUEUE
    assert code(story, RequeueJob(**FIELDS, run=0), None) is RefusalCode.NO_REQUEUE
    assert event(story, RequeueJob(**FIELDS, run=0, resubmit=True), None).submission == 2


def test_a_requeue_of_a_run_that_is_over_is_refused_where_the_cluster_cannot_revive_it() -> None:
    """R9."""
    story, _ = run_once(cause=CRASHED)
    assert code(story, RequeueJob(**FIELDS, run=0)) is RefusalCode.RUN_IS_OVER
    assert event(story, RequeueJob(**FIELDS, run=0), REQUEUES_ENDED).run == 0


def test_a_requeue_of_an_object_whose_end_is_final_is_refused() -> None:
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES, end_final=True)
    assert code(story, RequeueJob(**FIELDS, run=0), REQUEUES_ENDED) is RefusalCode.RUN_IS_OVER


def test_a_requeue_of_a_retired_object_is_refused() -> None:
    story, ref = running()
    assert code(story.retired(ref), RequeueJob(**FIELDS, run=0)) is RefusalCode.RUN_IS_OVER


def test_a_requeue_of_an_object_at_its_gate_is_refused() -> None:
    assert code(launched()[0], RequeueJob(**FIELDS, run=0)) is RefusalCode.RUN_IS_OVER


def test_a_requeue_while_one_is_on_its_way_is_refused() -> None:
    story, ref = running()
    story.requeue_authorized(ref, 0, rule="person", cause=None)
    assert code(story, RequeueJob(**FIELDS, run=0)) is RefusalCode.RUN_IS_OVER


def test_a_requeue_that_would_leave_out_finished_ranks_is_refused() -> None:
    story, ref = running()
    story.seen(story.look(ref, Phase.RUNNING, ranks_done=1))
    assert code(story, RequeueJob(**FIELDS, run=0)) is RefusalCode.NO_REQUEUE


def test_a_requeue_before_there_is_an_object_is_refused() -> None:
    story = Story().submitted().authorized()
    assert code(story, RequeueJob(**FIELDS, run=0)) is RefusalCode.RUN_IS_OVER
    assert code(story, RequeueJob(**FIELDS, run=0, resubmit=True)) is RefusalCode.RUN_IS_OVER


def test_a_resubmit_authorizes_the_next_submission_by_the_persons_order() -> None:
    story, _ = running()
    decided = answer(story, RequeueJob(**FIELDS, run=0, resubmit=True))
    assert isinstance(decided, Decided)
    assert decided.reason is Reason.PERSON_RESUBMIT
    assert decided.event == events.SubmissionAuthorized(
        submission=2, rule="person", budget_key="person/c-new", not_before_at=story.at
    )


# what needs a job still wanted


@pytest.mark.parametrize(
    "command", [HoldJob(**FIELDS), ReleaseJob(**FIELDS), RequeueJob(**FIELDS, run=0)], ids=lambda c: type(c).__name__
)
def test_nothing_is_asked_of_a_job_that_is_over_or_was_never_submitted(command: commands.Command) -> None:
    assert code(Story(), command) is RefusalCode.NO_SUCH_JOB
    cancelled, _ = running()
    assert code(cancelled.cancelled(), command) is RefusalCode.OUTCOME_DECIDED
    failed, _ = run_once(cause=CRASHED)
    failed.outcome(Outcome.FAILED, cause=CRASHED)
    assert code(failed, command) is RefusalCode.OUTCOME_DECIDED


def test_a_cluster_that_does_not_answer_is_not_told_to_be_unable() -> None:
    story, _ = running()
    for command in (HoldJob(**FIELDS, now=True), RequeueJob(**FIELDS, run=0)):
        silent, unable = answer(story, command, None), answer(story, command, NO_REQUEUE)
        assert isinstance(silent, Refused)
        assert isinstance(unable, Refused)
        assert silent.code is unable.code
        assert "does not answer" in silent.sentence
        assert "cluster cannot" in unable.sentence
