"""A held job is requeued, released and cancelled while its calls land in every order, where gate and hold are one bit.

At each of a few moments one of three things happens: a pass, the oldest call on its way lands, or the newest does.
Every combination is tried. No hold is lifted that was not released, and none is reported placed that is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Coroutine
from typing import Any

import pytest

from adapters.simulated.slurm import SlurmSettings
from dispatch.decide import Decided
from projections.evolve import empty, evolve
from projections.verify import verify
from streams.messages.commands import HoldJob, ReleaseJob, RequeueJob
from streams.messages.events import CallCommitted
from streams.messages.plan import RecoveryPlan
from streams.messages.values import Phase, Verb
from tests.driver import Driver

MOMENTS = 5
CHOICES = ("pass", "oldest", "newest")
ONCE_EACH = tuple(
    order
    for length in (2, 3, 4)
    for order in itertools.permutations(("hold", "requeue", "release", "cancel"), length)
    if order[0] == "hold"
)
HELD_AGAIN = (
    ("hold", "release", "hold2"),
    ("hold", "release", "hold2", "requeue"),
    ("hold", "release", "requeue", "hold2"),
)
ORDERS = (*ONCE_EACH, *HELD_AGAIN)


class ParkedDriver(Driver):
    """Calls stay on their way until they are told to land."""

    def __init__(self) -> None:
        super().__init__(SlurmSettings(incomplete=False))
        self.parked: list[Coroutine[Any, Any, None]] = []
        self.parking = False

    def _spawn(self, call: Coroutine[Any, Any, None]) -> None:
        if self.parking:
            self.parked.append(call)
        else:
            super()._spawn(call)

    async def land(self, which: int) -> None:
        if self.parked:
            await self.parked.pop(which)
            await self.read()

    async def give(self, order: str) -> bool:
        """Whether the order became an event."""
        if order == "cancel":
            return isinstance(await self.cancel(), Decided)
        fields = self.order_fields(f"c-{order}")
        if order.startswith("hold"):
            return isinstance(await self.order(HoldJob(**fields)), Decided)
        if order == "release":
            return isinstance(await self.order(ReleaseJob(**fields)), Decided)
        held = self.record.canonical()
        return isinstance(await self.order(RequeueJob(**fields, run=held.run if held else 0)), Decided)


async def run_through(orders: tuple[str, ...], choices: tuple[str, ...]) -> ParkedDriver:
    driver = ParkedDriver()
    await driver.submit(plan=RecoveryPlan())
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.parking = True
    for order in orders:
        await driver.give(order)
        for choice in choices[: MOMENTS - len(orders) + 1]:
            await step(driver, choice)
    for choice in choices:
        await step(driver, choice)
    while driver.parked:
        await driver.land(0)
    driver.parking = False
    return driver


async def step(driver: ParkedDriver, choice: str) -> None:
    if choice == "pass":
        await driver.look()
        await driver.pass_time(1.0)
        check_placed(driver)
    elif driver.parked:
        await driver.land(0 if choice == "oldest" else -1)


def check_placed(driver: ParkedDriver) -> None:
    """A hold that is reported placed is on the object, or the object runs on and will not run again by itself."""
    if not any(h.placed and not h.lifted for h in driver.record.holds.values()):
        return
    jobs = [job for job in driver.slurm.jobs if job.ref == driver.ref]
    assert all(job.held for job in jobs), [str(job.state) for job in jobs]


async def starts_while_placed(driver: ParkedDriver) -> list[str]:
    """Runs that began while a hold was reported placed and not lifted, by the cluster's own account."""
    record = empty(driver.name.tenant, driver.name.job)
    spans, since = [], None
    for entry in await driver.entries():
        record = evolve(record, entry)
        placed = any(h.placed and not h.lifted for h in record.holds.values())
        at = entry.content.at  # type: ignore[union-attr]  # every entry here is ours
        if placed and since is None:
            since = at
        elif not placed and since is not None:
            spans.append((since, at))
            since = None
    begun = [run.began_at for run in driver.slurm.truth.executions if run.began_at]
    return [f"{at} within {span}" for at in begun for span in spans if span[0] < at < span[1]]


async def opens_while_held(driver: ParkedDriver) -> list[int]:
    """Opens that were decided while a hold was in force."""
    record = empty(driver.name.tenant, driver.name.job)
    found = []
    for entry in await driver.entries():
        event = getattr(entry.content, "event", None)
        if isinstance(event, CallCommitted) and event.verb is Verb.OPEN and record.in_force:
            found.append(entry.revision)
        record = evolve(record, entry)
    return found


@pytest.mark.parametrize("orders", ORDERS, ids="-".join)
async def test_no_order_of_landing_lifts_a_hold_that_was_not_released(orders: tuple[str, ...]) -> None:
    for choices in itertools.product(CHOICES, repeat=3):
        driver = await run_through(orders, choices)
        if "cancel" in orders:
            await driver.settle()
            assert driver.record.cancel is not None, choices
        else:
            await driver.quiet()
            for _ in range(6):
                await driver.pass_time(20.0)
                await driver.look()
        check_placed(driver)
        if orders[-1] != "release" and "cancel" not in orders and driver.record.in_force:
            job = next(job for job in driver.slurm.jobs if job.ref == driver.ref)
            assert job.held or driver.phase is Phase.RUNNING, choices
        assert not await starts_while_placed(driver), choices
        assert not await opens_while_held(driver), choices
        verdict = verify(await driver.entries())
        assert not verdict.broken, (choices, verdict.broken)
