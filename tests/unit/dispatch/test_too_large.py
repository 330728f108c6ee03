"""An event that is larger than the bus takes is one job's matter: no other job of its shard waits for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from dispatch.supervisor import Result
from projections import fleet
from projections.evolve import empty, fold
from projections.record import Record
from projections.status import Alert
from streams.errors import TooLargeError
from streams.memory import MemoryBus
from streams.messages.commands import SubmitJob
from streams.messages.events import Envelope, Event, JobSubmitted, ObjectsSeen
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Receipt
from streams.messages.spec import JobSpec, Run
from tests.driver import Driver, Way


def now() -> datetime:
    return datetime.now(UTC)


async def pause() -> None:
    await asyncio.sleep(0.01)  # waits: the simulated cluster to move, as a watch does


def submit(job: str) -> SubmitJob:
    spec = JobSpec(cluster="sim", run=Run(command=("sleep", "0.1")))
    return SubmitJob(command=f"c-{job}", tenant="nlp", job=job, at=now(), spec=spec, plan=RecoveryPlan())


def refuses(patch: pytest.MonkeyPatch, bus: MemoryBus, job: str, kind: type[Event]) -> None:
    """Every event of that kind of that job is larger than the bus takes."""
    append = bus.history.append

    async def append_unless_too_large(envelope: Envelope) -> int:
        if envelope.job == job and isinstance(envelope.event, kind):
            raise TooLargeError("dispatch.job.nlp: 1048623 bytes are above the server's 1048576")
        return await append(envelope)

    patch.setattr(bus.history, "append", append_unless_too_large)


@contextlib.asynccontextmanager
async def at_work(bus: MemoryBus) -> AsyncIterator[None]:
    cluster = SlurmCluster(
        name="sim", clock=now, settings=SlurmSettings(), pace=SlurmPace(queue_s=0.0, stop_s=0.0, row_s=0.0)
    )
    settings = ReplicaSettings(name="sv-a", installation="inst", lease_s=0.5, heartbeat_s=0.1, sweep_s=60.0)
    one = Replica(bus, Clusters({"sim": SlurmAdapter(cluster, Way(), pause)}, None), settings)
    running = asyncio.create_task(one.run())
    try:
        yield
    finally:
        one.stop()
        await running


async def settled(bus: MemoryBus, job: str) -> Record:
    async with asyncio.timeout(20):
        while not (record := fold(empty("nlp", job), await bus.history.read("nlp", job))).settled:
            await asyncio.sleep(0.01)  # waits: the replica at work
    return record


async def receipt_of(bus: MemoryBus, command: str) -> Receipt:
    async with asyncio.timeout(20):
        while (receipt := await bus.buckets.get_receipt("nlp", command)) is None:
            await asyncio.sleep(0.01)  # waits: the replica at work
    return receipt


async def test_what_a_cluster_shows_that_is_too_large_to_be_kept_keeps_no_other_job_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bus = MemoryBus(shards=1)
    refuses(monkeypatch, bus, "swollen", ObjectsSeen)
    with capture_logs() as logs:
        async with at_work(bus):
            await bus.commands.publish(submit("swollen"), actor="ana")
            assert (await receipt_of(bus, "c-swollen")).answer is Answer.ACCEPTED
            for job in ("llama", "bert"):
                await bus.commands.publish(submit(job), actor="ana")
                await settled(bus, job)
            stored = await bus.buckets.get_status(fleet.key_of("nlp", "swollen"))
    told = fleet.decode(stored.data) if stored is not None else None
    assert told is not None
    assert Alert.UNREACHABLE in told.alerts
    whys = {line["why"] for line in logs if line["event"] == "pass" and line["job"] == "swollen"}
    assert (
        "what the cluster shows cannot be kept: dispatch.job.nlp: 1048623 bytes are above the server's 1048576" in whys
    )


async def test_a_pass_whose_event_is_too_large_decides_nothing_and_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driver()
    await driver.submit()
    with monkeypatch.context() as patch:
        refuses(patch, driver.bus, "llama", ObjectsSeen)
        await driver.until(lambda d: bool(d.record.attempts))
        await driver.pass_time(60)
        done = await driver.look()
        assert done.result is Result.UNREACHABLE
    assert (await driver.settle()).outcome is not None


async def test_a_command_whose_event_is_too_large_is_refused_and_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bus = MemoryBus(shards=1)
    refuses(monkeypatch, bus, "swollen", JobSubmitted)
    async with at_work(bus):
        await bus.commands.publish(submit("swollen"), actor="ana")
        await bus.commands.publish(submit("llama"), actor="ana")
        await settled(bus, "llama")
        refused = await receipt_of(bus, "c-swollen")
    assert (refused.answer, refused.code) == (Answer.REFUSED, RefusalCode.TOO_LARGE)
    assert "larger than one event on the bus may be, and nothing changed" in refused.sentence
    assert await bus.history.read("nlp", "swollen") == ()
