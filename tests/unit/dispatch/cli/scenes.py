"""Situations of one job that views are shown of, each made by the real passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.kubeflow_mishaps import KubeflowMishaps
from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from streams import subjects
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import Resources, Unmatched
from streams.messages.values import Phase
from tests.driver import Driver

PLAN = RecoveryPlan(
    rules=(
        PlanRule(name="preempted", on=("preempted",), do=PlanAction.RESUBMIT, budget=50),
        PlanRule(
            name="bad-node",
            on=("node-lost", "unknown"),
            do=PlanAction.RESUBMIT,
            budget=5,
            backoff=Backoff(first=0),
            avoid_nodes=True,
        ),
    )
)


async def running() -> Driver:
    driver = Driver()
    await driver.submit("sleep 100000", nodes=2, resources=Resources(gpus_per_node=8), plan=PLAN)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.pass_time(3600)
    return driver


async def node_lost() -> Driver:
    driver = await running()
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    await driver.quiet()
    await driver.pass_time(20 * 60)
    return driver


async def waiting_for_proof() -> Driver:
    """A node was lost while it ran: the next run is at its gate, and waits until the first one's end is proven."""
    again = PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0))
    driver = Driver()
    await driver.submit("sleep 100000", nodes=2, plan=RecoveryPlan(rules=(again,)))
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    await driver.quiet()
    return driver


async def held() -> Driver:
    driver = Driver()
    await driver.submit(hold="debugging")
    await driver.until(lambda d: d.phase is Phase.GATED)
    await driver.quiet()
    return driver


async def cancelling() -> Driver:
    driver = await running()
    await driver.cancel()
    await driver.look()
    return driver


async def cancelled() -> Driver:
    driver = await running()
    await driver.cancel()
    await driver.settle()
    return driver


async def succeeded() -> Driver:
    driver = Driver()
    await driver.submit("sleep 60", nodes=2, resources=Resources(gpus_per_node=8))
    await driver.settle()
    return driver


async def stuck() -> Driver:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(unmatched=Unmatched.MANUAL)
    await driver.until(lambda d: len(d.record.attempts) == 3)
    await driver.pass_time(1200)
    await driver.quiet()
    return driver


async def queued() -> Driver:
    driver = Driver()
    driver.fill()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.QUEUED)
    await driver.pass_time(4 * 3600 + 600)
    return driver


async def duplicates() -> Driver:
    """A Start whose answer was lost landed all the same, and a second one too."""
    driver = Driver()
    await driver.submit_twice_over(nodes=2)
    return driver


async def pods_remain() -> Driver:
    """Kueue preempted a run, and its pod's node does not answer."""
    plan = RecoveryPlan(rules=(PlanRule(name="preempted", on=("preempted",), do=PlanAction.REQUEUE, budget=100),))
    driver = Driver(KubeflowSettings(kueue=True))
    await driver.submit("sleep 100000", nodes=2, plan=plan)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    (job,) = driver.kubeflow.jobs
    node = job.pods[0].node
    assert node is not None
    KubeflowMishaps(driver.kubeflow).lose_node(node)
    KubeflowMishaps(driver.kubeflow).preempt(job)
    for _ in range(8):
        await driver.look()
        await driver.pass_time(60)
    return driver


def submissions(count: int) -> Callable[[Driver], bool]:
    return lambda driver: len(driver.record.submissions) == count


async def preempted_twice() -> Driver:
    driver = Driver()
    await driver.submit("sleep 600", nodes=2, resources=Resources(gpus_per_node=8), plan=PLAN)
    for number in (1, 2):
        await driver.until(lambda d: d.phase is Phase.RUNNING)
        await driver.pass_time(100)
        SlurmMishaps(driver.slurm).preempt(driver.slurm.jobs[-1], requeue=False)
        await driver.until(submissions(number + 1))
    await driver.settle()
    return driver


async def foreign() -> Driver:
    driver = await running()
    SlurmPeople(driver.slurm).submit(driver.name)
    await driver.quiet()
    return driver


async def unreadable() -> Driver:
    driver = await running()
    await driver.bus.history.store_bytes(subjects.job("nlp", "llama"), b"\x00 not ours")
    await driver.read()
    return driver


SCENES: dict[str, Callable[[], Awaitable[Driver]]] = {
    "running": running,
    "node-lost": node_lost,
    "held": held,
    "cancelling": cancelling,
    "cancelled": cancelled,
    "succeeded": succeeded,
    "stuck": stuck,
    "queued": queued,
    "duplicates": duplicates,
    "pods-remain": pods_remain,
    "preempted-twice": preempted_twice,
    "foreign": foreign,
    "unreadable": unreadable,
}
