"""Who looks after a job: live replicas that decide, never one that only observes."""

from __future__ import annotations

import msgspec

from dispatch.cli.looking import frame_of
from dispatch.replica.beat import Beat
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage


async def told(driver: Driver, *beats: Beat) -> tuple[str, bool | None, list[str] | None]:
    """The owner as it is shown, whether the job is attended, and who is there to answer a command."""
    for beat in beats:
        await driver.bus.buckets.beat(beat.name, msgspec.json.encode(beat), ttl_s=60.0)
    async with Stage(driver, supervised=False).session() as session:
        frame = await frame_of(session, await session.read("llama"))
        return frame.owner(), frame.around.attended, await session.alive()


async def test_a_job_that_only_an_observer_looks_at_is_unattended_until_a_replica_that_decides_is_live() -> None:
    driver = Driver()
    await driver.submit()
    watcher = Beat(name="sv-w", version="0.1.0", at=driver.at, observing=True)
    assert await told(driver, watcher) == ("UNATTENDED: no supervisor is live", False, [])
    worker = Beat(name="sv-z", version="0.1.0", at=driver.at)
    assert await told(driver, worker) == ("sv-z live", True, ["sv-z"])
