"""The history restored from an older copy under a live supervisor (L14, R23): nothing is decided for jobs that are
behind, and status says so; other jobs go on."""

from __future__ import annotations

import asyncio
import shutil

from projections import fleet
from projections.status import Alert
from streams.messages.plan import RecoveryPlan
from streams.messages.values import Phase
from tests.integration.promises.ground import TENANT, Ground, names

ONCE = RecoveryPlan()


async def told_regressed(here: Ground, job: str) -> bool:
    stored = await here.bus.buckets.get_status(fleet.key_of(TENANT, job))
    entry = fleet.decode(stored.data) if stored is not None else None
    return entry is not None and Alert.REGRESSED in entry.alerts


async def until_told(here: Ground, job: str) -> None:
    async with asyncio.timeout(60):
        while not await told_regressed(here, job):
            await here.bus.wakeups.wake(TENANT, job)
            await asyncio.sleep(0.2)  # waits: a replica's next pass


async def test_nothing_is_decided_for_a_job_whose_history_went_back_under_a_live_supervisor(here: Ground) -> None:
    adapter = here.adapter()
    copy = here.directory / "copy"
    store = here.node.directory
    async with here.replica("sv-a", adapter):
        # The copy is taken before the job's attempt was committed; the job then runs.
        here.node.stop()
        shutil.copytree(store, copy)
        await here.node.start()
        await here.client.submit("behind", here.spec("sleep 600 & wait $!"), ONCE)
        await here.until("behind", lambda r: (c := r.canonical()) is not None and c.phase is Phase.RUNNING)
        known = len(await here.history("behind"))
        here.node.kill()
        shutil.rmtree(store)
        shutil.copytree(copy, store)
        await here.node.start()
        await here.client.submit("behind", here.spec("sleep 600 & wait $!"), ONCE)
        # Other jobs append past the revisions that were lost.
        for number in range(4):
            await here.client.submit(f"other-{number}", here.spec(), ONCE)
        for number in range(4):
            await here.settled(f"other-{number}")
        await until_told(here, "behind")
        events = names(await here.history("behind"))
    assert known > len(events)
    assert "AttemptCommitted" not in events and "CallCommitted" not in events
    assert here.ran("behind") == [1_000_000]
    assert [here.ran(f"other-{number}") for number in range(4)] == [[1_000_000]] * 4


async def test_a_supervisor_started_after_the_restore_decides_nothing_either(here: Ground) -> None:
    adapter = here.adapter()
    copy = here.directory / "copy"
    store = here.node.directory
    here.client.timeout_s = 0.5
    await here.client.submit("behind", here.spec("sleep 600 & wait $!"), ONCE)
    here.node.stop()
    shutil.copytree(store, copy)
    await here.node.start()
    async with here.replica("sv-b", adapter):
        await here.until("behind", lambda r: (c := r.canonical()) is not None and c.phase is Phase.RUNNING)
    before = len(await here.history("behind"))
    here.node.kill()
    shutil.rmtree(store)
    shutil.copytree(copy, store)
    await here.node.start()
    async with here.replica("sv-c", adapter):
        await until_told(here, "behind")
        entries = await here.history("behind")
    assert len(entries) < before
    assert set(names(entries)) <= {"JobSubmitted", "ObjectsSeen", "CessationSeen"}
    assert here.ran("behind") == [1_000_000]
