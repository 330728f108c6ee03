"""A held job is requeued, released and cancelled while its calls land in every order, where gate and hold are one bit.

Between the orders passes look and calls on their way land, in every order of theirs. No hold is lifted that was not
released, and none is reported placed that is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from adapters.simulated.slurm import SlurmSettings
from streams.messages.values import Phase
from tests.unit.dispatch.parked import ORDERS, Begin, ParkedDriver, begun, check_history, come_to_rest, every_way

ONE_BIT = SlurmSettings(incomplete=False)


def check_placed(driver: ParkedDriver) -> None:
    """A hold that is reported placed is on the object, or the object runs on and will not run again by itself."""
    if not any(h.placed and not h.lifted for h in driver.record.holds.values()):
        return
    jobs = [job for job in driver.slurm.jobs if job.ref == driver.ref]
    assert all(job.held for job in jobs), [str(job.state) for job in jobs]


async def running() -> ParkedDriver:
    return await begun(ONE_BIT, Phase.RUNNING)


async def opening() -> ParkedDriver:
    return await begun(ONE_BIT, Phase.GATED)


@pytest.mark.parametrize("begin", [running, opening], ids=lambda begin: begin.__name__)
@pytest.mark.parametrize("orders", ORDERS, ids="-".join)
async def test_no_order_of_landing_lifts_a_hold_that_was_not_released(orders: Sequence[str], begin: Begin) -> None:
    async for driver in every_way(begin, orders, check_placed):
        await come_to_rest(driver, orders)
        check_placed(driver)
        if orders[-1] != "release" and "cancel" not in orders and driver.record.in_force:
            job = next(job for job in driver.slurm.jobs if job.ref == driver.ref)
            assert job.held or driver.phase is Phase.RUNNING, driver.way_taken
        await check_history(driver)
