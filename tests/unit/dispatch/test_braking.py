"""The brake pulled by a replica that follows the history: once a burst, whoever else saw it, lifted by hand for good."""

from __future__ import annotations

from dispatch.replica.braking import Braking
from projections.controls import Controls, fold_controls
from streams import subjects
from streams.messages.commands import BrakeOrder, SetControls
from streams.messages.events import Entry
from streams.messages.values import Phase
from tests.driver import CLUSTER, Driver

JOBS = 12


async def burst(driver: Driver) -> list[Entry]:
    """The history of a job that ran and failed, told of twelve jobs at this instant, one after the other."""
    await driver.submit("sleep 30; exit 3")
    await driver.until(lambda d: d.phase is Phase.ENDED)
    return [again(entry, f"job-{number}", driver) for entry in await driver.entries() for number in range(JOBS)]


def again(entry: Entry, job: str, driver: Driver) -> Entry:
    """The same entry of another job, stored now by the clock of the replica under test."""
    return Entry(tenant=entry.tenant, job=job, revision=entry.revision, stored_at=driver.at, content=entry.content)


async def standing(driver: Driver) -> Controls:
    return fold_controls(Controls(), await driver.bus.history.read("nlp", subjects.CONTROLS))


async def test_twelve_jobs_that_end_together_pull_the_brake_once_though_two_replicas_saw_them() -> None:
    driver = Driver()
    entries = await burst(driver)
    first, second = Braking(driver.hands, lambda _: True), Braking(driver.hands, lambda _: True)
    for entry in entries:
        await first.seen(entry)
        await second.seen(entry)
    controls = await standing(driver)
    assert controls.number == 1
    assert controls.retries_wait(CLUSTER, driver.at) == "brake"
    assert controls.standing(CLUSTER).brake_cause == "10 jobs ended within 0s, 2 still ran"


async def test_a_brake_lifted_by_hand_is_not_pulled_again_by_the_same_ends() -> None:
    driver = Driver()
    entries = await burst(driver)
    braking = Braking(driver.hands, lambda _: True)
    for entry in entries:
        await braking.seen(entry)
    person = Driver(job=subjects.CONTROLS)
    person.bus, person.hands, person.at = driver.bus, driver.hands, driver.at
    await driver.pass_time(5)
    person.controls = await standing(driver)
    await person.order(
        SetControls(**person.order_fields("c-allow"), cluster=CLUSTER, brake=BrakeOrder.CLEAR), actor="ana"
    )
    await braking.seen(entries[-1])
    controls = await standing(driver)
    assert controls.number == 2
    assert controls.retries_wait(CLUSTER, driver.at) is None


async def test_a_replica_that_is_not_the_one_to_pull_it_only_watches() -> None:
    driver = Driver()
    braking = Braking(driver.hands, lambda _: False)
    for entry in await burst(driver):
        await braking.seen(entry)
    assert (await standing(driver)).number == 0


async def test_ends_read_again_long_afterwards_pull_nothing() -> None:
    driver = Driver()
    entries = await burst(driver)
    await driver.pass_time(3600)
    braking = Braking(driver.hands, lambda _: True)
    for entry in entries:
        await braking.seen(entry)
    assert (await standing(driver)).number == 0
