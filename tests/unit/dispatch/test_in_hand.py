"""What a replica has taken it keeps in hand and finishes, and what it began it ends: no message and no task is left."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from dispatch.replica.clusters import Clusters
from dispatch.replica.follower import OpenJobs
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from dispatch.replica.sweep import Sweep
from streams import subjects
from streams.errors import NotPermittedError, WrongStreamError
from streams.memory import MemoryBus
from streams.messages.calls import JobName
from streams.messages.events import Entry
from streams.messages.receipts import Answer
from streams.messages.values import Found
from streams.ports import Caught
from tests.driver import Way
from tests.unit.dispatch.test_replica import CLUSTER, Adapter, adapter, beat_of, now, pause, replica, submit, until

LEASE_S = 0.3
FIRST, SECOND = (
    "llama",
    next(
        job
        for job in map("j-{}".format, range(99))
        if subjects.shard_of("nlp", job, 2) != subjects.shard_of("nlp", "llama", 2)
    ),
)


class Slow(Adapter):
    """A cluster whose Find waits until it is let go."""

    asked = False

    async def find(self, name: JobName) -> Found:
        self.asked = True
        await self.let_go.wait()
        return await super().find(name)


def slow() -> Slow:
    pace = SlurmPace(queue_s=0.0, stop_s=0.0, row_s=0.0)
    return Slow(SlurmCluster(name=CLUSTER, clock=now, settings=SlurmSettings(), pace=pace), Way(), pause)


async def test_a_message_that_waits_for_room_is_kept_in_hand_and_finished_by_the_drain() -> None:
    bus, cluster = MemoryBus(shards=2, lease_s=LEASE_S, wait_s=2 * LEASE_S), slow()
    settings = ReplicaSettings(
        name="sv-a", installation="inst", lease_s=LEASE_S, heartbeat_s=0.1, sweep_s=60.0, passes_max=1
    )
    one = Replica(bus, Clusters({CLUSTER: cluster}, None), settings)
    running = asyncio.create_task(one.run())
    await bus.commands.publish(submit(FIRST), actor="ana")
    await until(lambda: cluster.asked)
    await bus.commands.publish(submit(SECOND), actor="ana")
    told = await beat_of(bus, "sv-a", lambda beat: beat.in_flight == 2)
    assert not told.draining
    outsider = bus.connect().commands
    assert await outsider.receive(subjects.shard_of("nlp", SECOND, 2), rank=0) is None  # for two leases
    one.stop()
    await beat_of(bus, "sv-a", lambda beat: beat.draining)
    cluster.let_go.set()
    await running
    receipt = await bus.buckets.get_receipt("nlp", f"c-{SECOND}")
    assert receipt is not None
    assert receipt.answer is Answer.ACCEPTED
    assert await outsider.waiting() == 0


async def test_a_replica_that_may_not_beat_ends_before_it_has_begun_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = MemoryBus()

    async def refused(replica: str, data: bytes, *, ttl_s: float) -> None:
        raise NotPermittedError("the credentials do not allow publish")

    monkeypatch.setattr(bus.buckets, "beat", refused)
    before = asyncio.all_tasks()
    with pytest.raises(NotPermittedError):
        await replica(bus, adapter()).run()
    assert asyncio.all_tasks() == before
    gc.collect()  # a coroutine that nobody awaited warns now, and a warning fails the test


async def test_a_replica_that_has_ended_leaves_no_task_behind() -> None:
    bus = MemoryBus(shards=2)
    before = asyncio.all_tasks()
    one = replica(bus, adapter())
    running = asyncio.create_task(one.run())
    await beat_of(bus, "sv-a", lambda beat: True)
    await one.open_jobs.complete.wait()
    one.stop()
    await running
    assert asyncio.all_tasks() == before


async def test_a_sweep_whose_replay_cannot_be_made_is_told_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = MemoryBus()

    async def replaced(*, after: int = 0, tenant: str | None = None) -> AsyncIterator[Entry | Caught]:
        raise WrongStreamError("generation 2 has taken over")
        yield Caught(revision=0)

    monkeypatch.setattr(bus.history, "follow", replaced)
    before = asyncio.all_tasks()
    sweep = Sweep(bus, OpenJobs(), 60.0, lambda _: True, now)
    async with asyncio.timeout(20):
        with pytest.raises(WrongStreamError):
            await sweep._missed()
    assert asyncio.all_tasks() == before


async def test_a_replay_finds_the_open_jobs_that_the_cache_lacks_and_ends() -> None:
    bus, jobs = MemoryBus(), OpenJobs()
    async with asyncio.timeout(20):
        running = asyncio.create_task((one := replica(bus, slow())).run())
        await bus.commands.publish(submit("llama"), actor="ana")
        await until(lambda: bool(one.open_jobs.open))
        before = asyncio.all_tasks()
        assert await Sweep(bus, jobs, 60.0, lambda _: True, now)._missed() == [("nlp", "llama")]
        assert not (asyncio.all_tasks() - before)
        one.stop()
        await running
    assert jobs.open == {("nlp", "llama")}
