"""One replica, or two, on a bus in memory and a simulated cluster: what they share, survive and leave behind."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from functools import cached_property

import msgspec
import pytest
from structlog.testing import capture_logs

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from dispatch.replica.beat import Beat
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from dispatch.replica.shards import rank_of
from projections import fleet
from projections.evolve import empty, fold
from projections.record import Record
from streams.errors import WrongStreamError
from streams.memory import MemoryBus
from streams.messages.calls import JobName, StartCall
from streams.messages.commands import CancelJob, SubmitJob
from streams.messages.events import Envelope
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Progress
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Found, ObjectRef
from tests.driver import Way

CLUSTER = "sim"


def now() -> datetime:
    return datetime.now(UTC)


class Adapter(SlurmAdapter):
    """A simulated cluster of this test's own, that can fail in the ways a test asks for."""

    broken: str = ""
    stuck: bool = False
    held_back: bool = False

    @cached_property
    def let_go(self) -> asyncio.Event:
        return asyncio.Event()

    async def find(self, name: JobName) -> Found:
        if name.job == self.broken:
            raise RuntimeError("a fault of ours")
        return await super().find(name)

    async def start(self, call: StartCall) -> ObjectRef:
        if self.stuck:
            self.held_back = True
            await self.let_go.wait()
        return await super().start(call)


def adapter() -> Adapter:
    pace = SlurmPace(queue_s=0.0, stop_s=0.0, row_s=0.0)
    return Adapter(SlurmCluster(name=CLUSTER, clock=now, settings=SlurmSettings(), pace=pace), Way(), pause)


async def pause() -> None:
    await asyncio.sleep(0.01)  # waits: the simulated cluster to move, as a watch does


def replica(bus: MemoryBus, cluster: Adapter, name: str = "sv-a", *, observe: bool = False) -> Replica:
    settings = ReplicaSettings(
        name=name, installation="inst", lease_s=0.5, heartbeat_s=0.1, drain_s=0.3, sweep_s=60.0, observe=observe
    )
    return Replica(bus, Clusters({CLUSTER: cluster}, None), settings)


async def beat_of(bus: MemoryBus, name: str, met: Callable[[Beat], bool]) -> Beat:
    """The replica's heartbeat once it is so."""
    async with asyncio.timeout(20):
        while True:
            data = (await bus.buckets.replicas()).get(name)
            beat = msgspec.json.decode(data, type=Beat) if data is not None else None
            if beat is not None and met(beat):
                return beat
            await asyncio.sleep(0.01)  # waits: the replica to say so


async def put_beat(bus: MemoryBus, beat: Beat) -> None:
    await bus.buckets.beat(beat.name, msgspec.json.encode(beat), ttl_s=60.0)


@contextlib.asynccontextmanager
async def at_work(*replicas: Replica) -> AsyncIterator[None]:
    running = [asyncio.create_task(r.run()) for r in replicas]
    try:
        yield
    finally:
        for one in replicas:
            one.stop()
        await asyncio.gather(*running)


def submit(job: str) -> SubmitJob:
    spec = JobSpec(cluster=CLUSTER, run=Run(command=("sleep", "0.1")))
    return SubmitJob(command=f"c-{job}", tenant="nlp", job=job, at=now(), spec=spec, plan=RecoveryPlan())


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not met():
            await asyncio.sleep(0.01)  # waits: replicas at work


async def record_of(bus: MemoryBus, job: str) -> Record:
    return fold(empty("nlp", job), await bus.history.read("nlp", job))


async def settled(bus: MemoryBus, job: str) -> Record:
    async with asyncio.timeout(20):
        while not (record := await record_of(bus, job)).settled:
            await asyncio.sleep(0.01)  # waits: replicas at work
    return record


async def test_two_replicas_share_the_jobs_and_settle_each() -> None:
    bus, cluster = MemoryBus(), adapter()
    async with at_work(replica(bus, cluster), replica(bus.connect(), cluster, "sv-b")):
        for number in range(12):
            await bus.commands.publish(submit(f"j-{number}"), actor="ana")
        for number in range(12):
            await settled(bus, f"j-{number}")
    assert len(cluster.cluster.truth.executions) == 12


async def test_a_replica_that_is_told_to_stop_leaves_a_call_that_does_not_end() -> None:
    bus, cluster = MemoryBus(), adapter()
    cluster.stuck = True
    one = replica(bus, cluster)
    async with at_work(one):
        await bus.commands.publish(submit("llama"), actor="ana")
        async with asyncio.timeout(20):
            while not (await record_of(bus, "llama")).attempts:
                await asyncio.sleep(0.01)  # waits: the replica to commit the attempt
    record = await record_of(bus, "llama")
    assert record.attempts[0].reply is None


async def test_a_fault_in_one_jobs_pass_does_not_keep_the_others_from_theirs() -> None:
    bus, cluster = MemoryBus(shards=1), adapter()
    cluster.broken = "broken"
    async with at_work(replica(bus, cluster)):
        await bus.commands.publish(submit("broken"), actor="ana")
        await bus.commands.publish(submit("llama"), actor="ana")
        await settled(bus, "llama")
    assert not (await record_of(bus, "broken")).settled


async def test_a_command_that_cannot_be_read_is_answered_under_its_sequence_and_loses_nothing() -> None:
    bus, cluster = MemoryBus(shards=1), adapter()
    sequence = await bus.commands.publish_bytes("dispatch.command.nlp.ana.submit.llama", b"{")
    async with at_work(replica(bus, cluster)):
        await bus.commands.publish(submit("bert"), actor="ana")
        await settled(bus, "bert")
        receipt = await bus.buckets.get_receipt("nlp", f"seq-{sequence}")
    assert receipt is not None
    assert receipt.answer is Answer.MALFORMED
    assert receipt.code is RefusalCode.MALFORMED


async def test_the_receipt_of_a_cancel_is_complete_before_the_job_is_settled() -> None:
    bus, cluster = MemoryBus(), adapter()
    async with at_work(replica(bus, cluster)):
        await bus.commands.publish(submit("llama"), actor="ana")
        await bus.commands.publish(CancelJob(command="c-x", tenant="nlp", job="llama", at=now()), actor="ana")
        await settled(bus, "llama")
        receipt = await bus.buckets.get_receipt("nlp", "c-x")
    assert receipt is not None
    assert receipt.progress is Progress.COMPLETE


async def test_the_status_bucket_tells_of_every_job_after_its_last_pass() -> None:
    bus, cluster = MemoryBus(), adapter()
    async with at_work(replica(bus, cluster)):
        await bus.commands.publish(submit("llama"), actor="ana")
        record = await settled(bus, "llama")

        async def told() -> fleet.FleetEntry | None:
            stored = await bus.buckets.get_status(fleet.key_of("nlp", "llama"))
            return fleet.decode(stored.data) if stored is not None else None

        async with asyncio.timeout(20):
            while (entry := await told()) is None or not entry.settled:
                await asyncio.sleep(0.01)  # waits: the pass to tell
    assert entry.revision == record.revision


async def test_a_replica_whose_history_was_replaced_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    bus, cluster = MemoryBus(), adapter()

    async def replaced(envelope: Envelope) -> int:
        raise WrongStreamError("generation 2 has taken over")

    monkeypatch.setattr(bus.history, "append", replaced)
    running = asyncio.create_task(replica(bus, cluster).run())
    await bus.commands.publish(submit("llama"), actor="ana")
    with pytest.raises(WrongStreamError):
        await running


async def test_a_replica_that_observes_stays_until_it_is_stopped_and_takes_no_shard() -> None:
    bus = MemoryBus(shards=4)
    observer = replica(bus, adapter(), observe=True)
    running = asyncio.create_task(observer.run())
    begun = await beat_of(bus, "sv-a", lambda beat: True)
    later = await beat_of(bus, "sv-a", lambda beat: beat.at > begun.at)
    assert later.observing
    assert not later.draining
    assert later.shards == ()
    assert not running.done()
    observer.stop()
    await running
    assert await bus.buckets.replicas() == {}


@pytest.mark.parametrize("aside", [{"observing": True}, {"draining": True}], ids=["observes", "drains"])
async def test_no_shard_is_left_to_a_replica_that_takes_no_work(aside: dict[str, bool]) -> None:
    bus = MemoryBus(shards=16)
    idle = msgspec.structs.replace(Beat(name="sv-b", version="0.1.0", at=now()), **aside)
    await put_beat(bus, idle)
    one = replica(bus, adapter())
    async with at_work(one):
        assert (await beat_of(bus, "sv-a", lambda beat: True)).shards == tuple(range(16))
        await put_beat(bus, Beat(name="sv-b", version="0.1.0", at=now()))
        shared = await beat_of(bus, "sv-a", lambda beat: len(beat.shards) < 16)
    assert shared.shards == tuple(shard for shard in range(16) if rank_of(shard, "sv-a", ("sv-a", "sv-b")) == 0)


async def test_a_replica_that_drains_says_so_at_once_and_leaves_when_it_is_over() -> None:
    bus, cluster = MemoryBus(), adapter()
    cluster.stuck = True
    settings = ReplicaSettings(name="sv-a", installation="inst", heartbeat_s=30.0, drain_s=20.0, sweep_s=60.0)
    one = Replica(bus, Clusters({CLUSTER: cluster}, None), settings)
    running = asyncio.create_task(one.run())
    await bus.commands.publish(submit("llama"), actor="ana")
    await until(lambda: cluster.held_back)
    one.stop()
    told = await beat_of(bus, "sv-a", lambda beat: beat.draining)
    assert (told.shards, told.in_flight) == ((), 1)
    assert not running.done()
    cluster.let_go.set()
    await running
    assert await bus.buckets.replicas() == {}


async def test_a_replica_warns_once_of_another_that_serves_other_clusters() -> None:
    bus = MemoryBus(shards=1)
    await put_beat(bus, Beat(name="sv-b", version="0.1.0", at=now(), serves=("hpc2",)))
    await put_beat(bus, Beat(name="sv-c", version="0.1.0", at=now(), serves=("*",)))
    await put_beat(bus, Beat(name="sv-d", version="0.0.9", at=now()))
    with capture_logs() as logs:
        async with at_work(replica(bus, adapter())):
            begun = await beat_of(bus, "sv-a", lambda beat: True)
            later = await beat_of(bus, "sv-a", lambda beat: beat.at > begun.at)
            await beat_of(bus, "sv-a", lambda beat: beat.at > later.at)
    warned = [line for line in logs if "serves other clusters" in line["event"]]
    assert [(line["replica"], line["serves"], line["here"]) for line in warned] == [("sv-b", "hpc2", "*")]
