"""Whole ways through a job that people have reported going wrong (R numbers), driven by the real passes."""

from __future__ import annotations

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.kubeflow_mishaps import KubeflowMishaps, KubeflowPeople
from adapters.simulated.slurm import SlurmSettings
from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from projections.evolve import empty
from projections.verify import verify
from streams.messages.commands import AttestNodeOff, HoldJob, ReleaseJob
from streams.messages.events import (
    CallCommitted,
    OutcomeDecided,
    RequeueAuthorized,
    SubmissionAuthorized,
)
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.values import CauseKind, NodeAttested, Phase, Verb
from tests.driver import Driver


def plan(*on: str, do: PlanAction = PlanAction.RESUBMIT, budget: int = 1) -> RecoveryPlan:
    rule = PlanRule(name="again", on=on, do=do, budget=budget, backoff=Backoff(first=0))
    return RecoveryPlan(rules=(rule,))


async def lawful(driver: Driver) -> None:
    verdict = verify(await driver.entries())
    assert verdict.broken == ()


# whole ways


async def test_a_lost_node_is_waited_for_until_a_person_vouches_that_it_is_off() -> None:
    """R6: an operator's way out."""
    driver = Driver()
    await driver.submit("sleep 1000", plan=plan("node-lost"))
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    first = driver.ref
    (lost,) = driver.slurm.truth.living[0].alive
    SlurmMishaps(driver.slurm).lose_node(lost)
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    await driver.quiet()
    command = AttestNodeOff(**driver.order_fields("c-a"), node=lost, state=NodeAttested.OFF, object=first, run=0)
    await driver.order(command)
    await driver.until(lambda d: d.phase is Phase.RUNNING and len(d.record.submissions) == 2)
    await lawful(driver)


async def test_a_job_whose_pods_are_terminating_is_not_admitted_again() -> None:
    """R5: `active = 0` says nothing of processes."""
    driver = Driver(KubeflowSettings(kueue=True))
    await driver.submit("sleep 1000", plan=plan("preempted", do=PlanAction.REQUEUE))
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    (job,) = driver.kubeflow.jobs
    (pod,) = job.pods
    assert pod.node is not None
    KubeflowMishaps(driver.kubeflow).lose_node(pod.node)
    KubeflowMishaps(driver.kubeflow).preempt(job)
    for _ in range(20):
        await driver.look()
        await driver.pass_time(60)
    assert (job.a, len(driver.kubeflow.truth.living)) == (1, 1), "one execution, and the gate is shut"
    KubeflowMishaps(driver.kubeflow).return_node(pod.node, rebooted=False)
    await driver.until(lambda d: job.a == 2 and d.phase is Phase.RUNNING)
    assert len(driver.kubeflow.truth.living) == 1
    await lawful(driver)


async def test_a_preempted_job_under_kueue_uses_its_rules_budget_and_ends_when_that_is_spent() -> None:
    """R19: one use an admission."""
    driver = Driver(KubeflowSettings(kueue=True))
    await driver.submit("sleep 1000", plan=plan("preempted", do=PlanAction.REQUEUE))
    (first, second) = (1, 2)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    KubeflowMishaps(driver.kubeflow).preempt(driver.kubeflow.jobs[0])
    await driver.until(lambda d: d.phase is Phase.RUNNING and driver.kubeflow.jobs[0].a == second)
    KubeflowMishaps(driver.kubeflow).preempt(driver.kubeflow.jobs[0])
    record = await driver.settle()
    authorized = [e for e in await driver.events() if isinstance(e, RequeueAuthorized)]
    assert [(e.run, e.budget_key) for e in authorized] == [(first, "again/1.1")]
    assert record.outcome is not None
    assert record.outcome.cause.kind is CauseKind.PREEMPTED
    await lawful(driver)


async def test_a_job_that_slurm_requeued_by_itself_is_stopped_and_never_submitted_beside_it() -> None:
    """R7."""
    driver = Driver()
    await driver.submit("sleep 1000", plan=plan("any"))
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    (job,) = driver.slurm.jobs
    SlurmMishaps(driver.slurm).own_requeue(job)
    await driver.until(lambda d: job.phase is Phase.ENDED)
    assert [len(driver.slurm.jobs), job.run] == [1, 1]
    stops = [e for e in await driver.events() if isinstance(e, CallCommitted) and e.verb is Verb.STOP]
    assert len(stops) == 1
    await lawful(driver)


async def test_a_preempted_run_that_slurm_cancelled_is_resubmitted_and_one_it_requeued_is_not() -> None:
    """R17: both modes told apart by evidence."""
    cancelled = Driver()
    await cancelled.submit("sleep 1000", plan=plan("preempted"))
    await cancelled.until(lambda d: d.phase is Phase.RUNNING)
    SlurmMishaps(cancelled.slurm).preempt(cancelled.slurm.jobs[0], requeue=False)
    await cancelled.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.RUNNING)
    requeued = Driver()
    await requeued.submit("sleep 1000", plan=plan("preempted"))
    await requeued.until(lambda d: d.phase is Phase.RUNNING)
    SlurmMishaps(requeued.slurm).preempt(requeued.slurm.jobs[0], requeue=True)
    await requeued.until(lambda d: requeued.slurm.jobs[0].phase is Phase.ENDED)
    assert len(requeued.record.submissions) == 1
    await lawful(cancelled)
    await lawful(requeued)


async def test_a_cancel_with_no_supervisor_alive_takes_effect_when_one_starts() -> None:
    """R8."""
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.cancel()
    await driver.pass_time(86400)
    driver.record = empty("nlp", "llama")
    record = await driver.settle()
    assert record.cancel is not None
    assert driver.cluster.truth.living == []
    await lawful(driver)


async def test_a_finished_job_that_is_requeued_by_hand_is_stopped_after_settlement() -> None:
    """R9."""
    driver = Driver(SlurmSettings(incomplete=False))
    await driver.submit("sleep 1")
    await driver.settle()
    people = SlurmPeople(driver.slurm)
    people.requeue(driver.slurm.jobs[0])
    people.release(driver.slurm.jobs[0])
    await driver.until(lambda d: driver.slurm.jobs[0].phase is Phase.ENDED and driver.slurm.jobs[0].run == 1)
    assert [e.verb for e in (await driver.events())[-4:] if isinstance(e, CallCommitted)] == [Verb.STOP]
    assert driver.record.settled
    await lawful(driver)


async def test_an_id_that_was_handed_out_again_never_ends_our_job() -> None:
    """R10: another's old row under our object's id."""
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    ours = driver.slurm.jobs[0]
    people = SlurmPeople(driver.slurm)
    other = people.submit(driver.name, reuse_id=ours.ref.id)
    people.cancel(other)
    for _ in range(5):
        await driver.look()
        await driver.pass_time(60)
    assert driver.phase is Phase.RUNNING
    assert not any(isinstance(e, OutcomeDecided) for e in await driver.events())
    assert driver.record.objects[other.ref].foreign


async def test_accounting_that_never_answers_does_not_keep_a_job_open() -> None:
    """R11: squeue alone carries on."""
    driver = Driver()
    driver.slurm.pace = type(driver.slurm.pace)(queue_s=0.1, stop_s=0.1, row_s=10**9) if driver.slurm.pace else None
    await driver.submit("sleep 3; exit 3", plan=plan("exit-code"))
    await driver.until(lambda d: len(d.record.submissions) == 2)
    assert any(isinstance(e, SubmissionAuthorized) and e.submission == 2 for e in await driver.events())
    assert (await driver.settle()).outcome is not None
    await lawful(driver)


async def test_any_subset_of_looks_ends_in_the_same_outcome() -> None:
    """R13, R15, L13: a watch that is lost, late or doubled changes no decision, only when it is made."""
    outcomes = set()
    for step_s in (0.5, 2.0, 7.0, 45.0):
        driver = Driver()
        await driver.submit("sleep 3; exit 3", plan=plan("exit-code"))
        record = await driver.until(lambda d: d.record.settled, step_s=step_s)
        assert record.outcome is not None
        outcomes.add((record.outcome.outcome, record.outcome.cause.kind, len(record.submissions)))
        await lawful(driver)
    assert len(outcomes) == 1


async def test_a_release_in_kubernetes_plain_mode_begins_the_next_run_through_the_gate() -> None:
    """R16: the hold stays in force until it is lifted, and the run that follows has its own number."""
    driver = Driver(KubeflowSettings())
    await driver.submit("sleep 1000")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.order(HoldJob(**driver.order_fields("c-h"), now=True))
    await driver.until(lambda d: d.phase is Phase.GATED)
    for _ in range(5):
        await driver.look()
        await driver.pass_time(60)
    assert driver.kubeflow.jobs[0].a == 1
    await driver.order(ReleaseJob(**driver.order_fields("c-r")))
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    assert driver.kubeflow.jobs[0].a == 2
    assert len(driver.record.submissions) == 1
    await lawful(driver)


async def test_an_object_unsuspended_by_hand_while_it_is_held_does_not_stay_open() -> None:
    """L1, R7: it is stopped if it runs, and suspended again by its hold if it only waits."""
    driver = Driver(KubeflowSettings())
    await driver.submit("sleep 1000", hold="for ana")
    await driver.until(lambda d: d.phase is Phase.GATED)
    KubeflowPeople(driver.kubeflow).release(driver.kubeflow.jobs[0])
    assert not driver.kubeflow.jobs[0].suspend
    await driver.until(lambda d: driver.kubeflow.jobs[0].suspend)
    await driver.pass_time(1)
    assert driver.cluster.truth.living == []
