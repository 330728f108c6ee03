"""Messages around the largest that a server takes: it counts headers too, and ends the connection of who exceeds it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace
from dispatch.client import Accepted, AsyncClient
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from streams import codec
from streams.errors import TooLargeError
from streams.jetstream.append import condition
from streams.jetstream.connect import JetStreamBus
from streams.jetstream.layout import history_stream
from streams.messages.calls import Capabilities, JobName
from streams.messages.events import Envelope, ObjectsSeen
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Found, ObjectRef, Phase, Sighting
from tests.conformance.streams_world import AT, LAYOUT, JetStreamWorld, an_event, shard_of, until

MAX_PAYLOAD = 1024 * 1024
HEADERS = condition(history_stream(1), 0)
HEADER_BYTES = len("NATS/1.0\r\n\r\n") + sum(len(f"{key}: {value}\r\n") for key, value in HEADERS.items())


def swollen(length: int) -> Sighting:
    return Sighting(object=ObjectRef(cluster="swollen", id="x" * length, created="y"), phase=Phase.RUNNING)


def event_of(length: int) -> Envelope:
    seen = ObjectsSeen(as_of=AT, read_revision=0, sightings=(swollen(length),))
    return replace(an_event(1), event=seen, reason=None)


class Quick(SlurmAdapter):
    """Asked five times a second, so that a job is followed to its end while a test waits."""

    async def capabilities(self) -> Capabilities:
        return replace(await super().capabilities(), find_every_s=0.2)


class Swollen(Quick):
    """A cluster that shows a foreign object whose name alone is as long as the bus allows."""

    async def find(self, name: JobName) -> Found:
        found = await super().find(name)
        return replace(found, sightings=(*found.sightings, swollen(MAX_PAYLOAD)))


@contextlib.asynccontextmanager
async def at_work(bus: JetStreamBus) -> AsyncIterator[None]:
    pace = SlurmPace(queue_s=0.1, stop_s=0.1, row_s=0.1)
    large = Swollen(SlurmCluster(name="swollen", clock=lambda: datetime.now(UTC), pace=pace))
    plain = Quick(SlurmCluster(name="sim", clock=lambda: datetime.now(UTC), pace=pace))
    settings = ReplicaSettings(name="sv-a", installation=LAYOUT.installation, lease_s=LAYOUT.lease_s, heartbeat_s=0.5)
    replica = Replica(bus, Clusters({"swollen": large, "sim": plain}, None), settings)
    running = asyncio.create_task(replica.run())
    try:
        yield
    finally:
        replica.stop()
        await running


@pytest.mark.parametrize("over", [1, HEADER_BYTES], ids=["by a byte", "by all but the payload"])
async def test_an_event_too_large_with_its_headers_is_refused_and_the_connection_stays(
    world: JetStreamWorld, over: int
) -> None:
    bus = await world.connect()
    base = len(codec.encode_event(event_of(0)))
    fits = MAX_PAYLOAD - HEADER_BYTES - base
    with pytest.raises(TooLargeError, match=f"{MAX_PAYLOAD + over} bytes are above the server's {MAX_PAYLOAD}"):
        await bus.history.append(event_of(fits + over))
    assert await bus.history.append(event_of(fits)) == 1
    assert bus.reconnects == 0


async def test_an_event_above_its_streams_own_limit_is_too_large_and_not_a_full_stream(world: JetStreamWorld) -> None:
    bus = await world.connect()
    assert isinstance(bus, JetStreamBus)
    stream = history_stream(1)
    config = (await bus.wire.api(f"STREAM.INFO.{stream}"))["config"]
    await bus.wire.api(f"STREAM.UPDATE.{stream}", {**config, "max_msg_size": 2000})
    with pytest.raises(TooLargeError):
        await bus.history.append(event_of(4000))
    assert await bus.history.append(an_event(1)) == 1


async def test_a_find_that_does_not_fit_on_the_bus_ends_no_replica_and_keeps_no_job_of_its_shard_waiting(
    world: JetStreamWorld,
) -> None:
    bus, served = await world.connect(), await world.connect()
    assert isinstance(served, JetStreamBus)
    neighbour = next(name for name in map("j-{}".format, range(400)) if shard_of(name) == shard_of("bad"))
    client = AsyncClient(bus, tenant="nlp", actor="ana", timeout_s=20.0)
    async with at_work(served):
        run = Run(command=("sleep", "0.2"))
        assert isinstance(await client.submit("bad", JobSpec(cluster="swollen", run=run)), Accepted)
        await until(lambda: client.record("bad"), lambda record: record.number >= 1)
        assert isinstance(await client.submit(neighbour, JobSpec(cluster="sim", run=run)), Accepted)
        await until(lambda: client.record(neighbour), lambda record: record.settled)
    assert served.reconnects == 0
    assert not served.wire.closed
