"""Each of the four natures of a wait, and what the waits of a job's way say."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.kubeflow_mishaps import KubeflowMishaps
from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from dispatch.decide import Refused
from projections.status import Around, Nature, Status, Wait, status
from projections.status.waits.pending import nature_of
from streams.messages.calls import Inspection
from streams.messages.commands import AttestNodeOff, CancelJob, Dispose, HoldJob, RequeueJob
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import Unmatched
from streams.messages.values import Disposition, MessageRef, NodeAttested, Phase
from tests.driver import Driver

AGAIN = RecoveryPlan(
    rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=60)),)
)
AT_ONCE = RecoveryPlan(
    rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0)),)
)


def told(driver: Driver, **around: object) -> Status:
    return status(driver.record, Around(now=driver.at, controls=driver.controls, **around))  # type: ignore[arg-type]


async def only(driver: Driver, **around: object) -> Wait:
    """The one wait of the job, once a pass changes nothing any more."""
    await driver.quiet()
    [wait] = told(driver, **around).waits
    return wait


async def queued(reason: str) -> Wait:
    """The wait of a queued job for which the scheduler, asked now, gives this reason."""
    driver = Driver()
    driver.fill()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.QUEUED)
    asked = Inspection(pending_reason=reason, position=12, estimated_start_at=driver.at + timedelta(hours=2))
    able = await driver.capabilities()
    return await only(driver, inspections=((driver.ref, asked),), capabilities=able)


async def test_a_queue_ends_by_itself_and_tells_place_and_guess_where_the_scheduler_was_asked() -> None:
    wait = await queued("Priority")
    assert wait.nature is Nature.BY_ITSELF
    assert wait.what == "Priority, to start slurm 1"
    assert wait.because == ("Priority", "place 12 in the queue · the scheduler guesses a start at 2026-01-01T02:00:10Z")
    assert wait.can == ()


async def test_a_quota_ends_when_others_end() -> None:
    wait = await queued("AssocGrpGRES")
    assert wait.nature is Nature.WHEN_OTHERS_END
    assert wait.ends == ("others that take up the same room end",)


async def test_a_time_limit_that_the_partition_does_not_allow_will_not_end_as_it_is() -> None:
    wait = await queued("PartitionTimeLimit")
    assert wait.nature is Nature.WILL_NOT_END
    assert wait.can[0].command == 'dispatch cancel llama --reason "…"'


@pytest.mark.parametrize(
    ("reason", "nature"),
    [
        ("", Nature.BY_ITSELF),
        ("Resources", Nature.BY_ITSELF),
        ("SomethingNew", Nature.BY_ITSELF),
        ("ReqNodeNotAvail, UnavailableNodes:n17", Nature.BY_ITSELF),
        ("QOSMaxJobsPerUserLimit", Nature.WHEN_OTHERS_END),
        ("QOSMaxGRESPerUser", Nature.WHEN_OTHERS_END),
        ("AssocMaxJobsLimit", Nature.WHEN_OTHERS_END),
        ("waits for slots: needs 2, 0 of 2 free", Nature.WHEN_OTHERS_END),
        (
            "couldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu",
            Nature.WHEN_OTHERS_END,
        ),
        ("BadConstraints", Nature.WILL_NOT_END),
        ("needs 9 slots, this host has 8", Nature.WILL_NOT_END),
        ("QOSMaxCpuPerJobLimit", Nature.WILL_NOT_END),
        ("MaxMemPerLimit", Nature.WILL_NOT_END),
        ("insufficient quota for cpu in flavor default, request > maximum capacity (40 > 20)", Nature.WILL_NOT_END),
        ("JobHeldAdmin", Nature.NEEDS_A_PERSON),
        ("ClusterQueue nlp is inactive", Nature.NEEDS_A_PERSON),
    ],
)
def test_a_schedulers_reason_has_one_nature(reason: str, nature: Nature) -> None:
    assert nature_of(reason) is nature


async def test_a_lost_node_is_waited_for_and_after_a_quarter_of_an_hour_needs_a_person() -> None:
    driver = Driver()
    await driver.submit(nodes=2, plan=AT_ONCE)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    wait = await only(driver)
    assert wait.what == "proof that 1.0 is dead on n1, before submission 2 may start"
    assert wait.because == ("n1 is down; may still run there: 1.0", "1 of 2 nodes proven")
    assert wait.ends == ("n1 reboots", "n1 reports no process of 1", "someone attests that n1 is off")
    assert [can.command for can in wait.can] == [
        'dispatch attest n1 --job llama --is off --reason "…"',
        'dispatch cancel llama --reason "…"',
    ]
    assert (wait.nature, wait.law) == (Nature.BY_ITSELF, "L4")
    assert wait.since is not None
    await driver.pass_time((wait.since + timedelta(minutes=15) - driver.at).total_seconds())
    late = told(driver)
    assert late.waits[0].nature is Nature.NEEDS_A_PERSON
    assert late.needs_person
    attest = AttestNodeOff(
        **driver.order_fields("c-off"), node="n1", state=NodeAttested.OFF, object=driver.record_of(1), run=0
    )
    await driver.order(attest)
    shown = told(driver)
    assert shown.executions[0].processes == "gone; attested by ana on n1"
    assert not shown.needs_person


async def test_pods_that_remain_are_named_with_their_node() -> None:
    driver = Driver(KubeflowSettings())
    await driver.submit("sleep 30; exit 3", plan=AT_ONCE)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    KubeflowMishaps(driver.kubeflow).lose_node("k1")
    await driver.cancel()
    await driver.pass_time(5)
    await driver.quiet()
    shown = told(driver)
    assert shown.state == "cancelling"
    assert shown.waits[0].what == "ns/llama-s1a1 to end"
    assert shown.cancel is not None
    assert shown.cancel.blocked_by == ("ns/llama-s1a1 to end",)


async def test_a_hold_names_who_asked_why_and_the_line_that_lifts_it() -> None:
    driver = Driver()
    await driver.submit()
    await driver.order(HoldJob(**driver.order_fields("c-hold"), note="debugging"), actor="bo")
    wait = await only(driver)
    assert wait.what == "hold c-hold to be lifted"
    assert wait.because == ('held by bo: "debugging"',)
    assert wait.can[0].command == "dispatch release llama --instance c-hold"
    assert wait.nature is Nature.NEEDS_A_PERSON


async def test_an_administrators_hold_is_not_ours_to_lift() -> None:
    driver = Driver()
    driver.fill()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.QUEUED)
    SlurmPeople(driver.slurm).hold(driver.slurm.jobs[0], admin=True)
    wait = await only(driver)
    assert wait.what == "the admin hold on 1 to be lifted"
    assert wait.ends == ("an administrator of the cluster lifts it; dispatch may not",)
    assert [(h.kind, h.instance) for h in told(driver).holds] == [("admin", None)]


async def test_a_failed_launch_leaves_a_hold_that_is_told_by_its_own_name() -> None:
    driver = Driver()
    await driver.submit(plan=RecoveryPlan())
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    assert SlurmMishaps(driver.slurm).launch_fails(driver.slurm.jobs[0])
    await driver.look()
    assert [(h.kind, h.on_object) for h in told(driver).holds] == [("launch-failed", True)]


async def test_a_pause_of_the_plan_says_until_when() -> None:
    driver = Driver()
    await driver.submit("sleep 30; exit 3", plan=AGAIN)
    await driver.until(lambda d: len(d.record.submissions) == 2)
    wait = await only(driver)
    newest = driver.record.newest
    assert newest is not None
    assert wait.what == "the pause before submission 2"
    assert wait.because == ("again resubmits after exit-code 3 (rank 0)",)
    assert wait.ends == (f"at {newest.not_before_at:%Y-%m-%dT%H:%M:%SZ}",)


async def test_a_start_without_an_answer_may_exist() -> None:
    driver = Driver()
    driver.asleep = True
    await driver.submit()
    await driver.until(lambda d: d.record.attempts)
    wait = await only(driver)
    assert wait.what == "the object of attempt 1/1"
    assert wait.law == "L9"
    assert told(driver).calls[0].kind == "start"


async def test_a_start_that_was_never_answered_waits_for_a_person_after_a_cancel_under_manual() -> None:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(attempts_max=2, unmatched=Unmatched.MANUAL)
    await driver.until(lambda d: len(d.record.attempts) == 1)
    driver.way.lost = set()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.cancel()
    await driver.until(lambda d: d.record.cancel is not None and d.record.cancel.complete)
    wait = await only(driver)
    assert wait.what == "a decision about attempt 1/1, of which no object was ever found"
    assert wait.nature is Nature.NEEDS_A_PERSON


async def test_a_duplicate_is_stopped_before_the_canonical_object_may_start() -> None:
    driver = Driver()
    await driver.submit_twice_over()
    shown = told(driver)
    assert sorted((o.id, o.role) for o in shown.objects) == [("1", "canonical"), ("2", "retired")]
    assert shown.waits[0].what == "2 to be stopped, before 1 may start"
    assert shown.waits[0].law == "L1"


async def test_an_object_that_is_merely_absent_is_waited_for_and_then_needs_a_person() -> None:
    driver = Driver()
    await driver.submit(plan=AGAIN)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.slurm.jobs[0].hidden = True
    driver.slurm.touch(driver.slurm.jobs[0])
    await driver.pass_time(5)
    await driver.quiet()
    shown = told(driver)
    assert shown.waits[0].what == "1 to be seen again, or its end"
    assert shown.waits[0].law == "L9"
    assert not shown.needs_person
    await driver.pass_time(901)
    assert told(driver).needs_person
    await driver.order(
        Dispose(**driver.order_fields("c-gone"), target=driver.ref, disposition=Disposition.GONE), actor="bo"
    )
    assert not told(driver).needs_person


async def test_a_canonical_object_that_a_person_ignores_leaves_a_job_that_needs_one() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.slurm.jobs[0].hidden = True
    driver.slurm.touch(driver.slurm.jobs[0])
    await driver.pass_time(5)
    await driver.quiet()
    await driver.order(Dispose(**driver.order_fields("c-ignore"), target=driver.ref, disposition=Disposition.IGNORE))
    shown = told(driver)
    assert shown.needs_person
    assert shown.waits[0].can[0].command == 'dispatch requeue llama --resubmit --reason "…"'


async def test_a_person_who_requeues_a_run_sees_it_waited_for() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.way.lost = {"requeue"}
    await driver.order(RequeueJob(**driver.order_fields("c-again"), run=0))
    await driver.quiet()
    shown = told(driver)
    assert shown.state == "running"
    assert shown.waits == ()
    assert [c.kind for c in shown.calls] == ["requeue"]


async def test_a_settled_job_waits_for_nothing() -> None:
    driver = Driver()
    await driver.submit("sleep 30; exit 0")
    await driver.settle()
    shown = told(driver)
    assert shown.waits == ()
    assert shown.settled.holds
    assert all(clause.holds for clause in shown.settled.clauses)


@pytest.mark.parametrize(("gone", "why"), [(False, "read-only"), (True, "gone")], ids=["read-only", "gone"])
async def test_a_job_whose_cluster_takes_no_calls_says_so_before_its_start_and_at_its_gate(
    gone: bool, why: str
) -> None:
    driver = Driver()
    only_looked_at = {"read_only": True, "takes_stops": gone}
    await driver.submit()
    driver.slurm.otherwise = only_looked_at
    await driver.quiet()
    begun = told(driver, capabilities=await driver.capabilities()).waits
    driver.slurm.otherwise = {}
    await driver.until(lambda d: len(d.record.attempts) == 1)
    driver.slurm.otherwise = only_looked_at
    await driver.quiet()
    gated = told(driver, capabilities=await driver.capabilities()).waits
    for waits, call in ((begun, "the Start of submission 1"), (gated, "the Open of slurm 1")):
        [wait] = waits
        assert wait.what == f"sim to take calls: {call} is not sent"
        assert wait.nature is Nature.NEEDS_A_PERSON
        assert why in wait.because[0]
        assert [can.command for can in wait.can] == ['dispatch cancel llama --reason "…"']


async def test_a_name_that_began_with_rubbish_says_that_no_submit_can_come_any_more() -> None:
    driver = Driver()
    await driver.bus.history.store_bytes("dispatch.job.nlp.llama", b"{}")
    rubbish = MessageRef(revision=(await driver.entries())[0].revision)
    await driver.read()
    await driver.order(Dispose(**driver.order_fields("c-1"), target=rubbish, disposition=Disposition.IGNORE))
    assert isinstance(await driver.submit(), Refused)
    [wait] = told(driver).waits
    assert wait.what == "a submit that can no longer come"
    assert [can.command for can in wait.can] == ['dispatch cancel llama --reason "…"']
    await driver.cancel()
    await driver.until(lambda d: d.record.settled)


async def test_a_cancel_on_a_cluster_that_is_only_looked_at_says_that_no_stop_is_sent() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.order(CancelJob(**driver.order_fields("c-cancel")))
    able = replace(await driver.capabilities(), read_only=True)
    shown = told(driver, capabilities=able)
    assert "the cluster to take stops again" in [wait.what for wait in shown.waits]
    assert shown.needs_person
    gone = told(driver, capabilities=replace(able, takes_stops=True))
    assert "the cluster to take stops again" not in [wait.what for wait in gone.waits]
