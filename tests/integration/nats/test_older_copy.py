"""L14 on a real server: a replica lives through a store that was put back to an older copy in place."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from msgspec.structs import replace

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace
from dispatch.client import Accepted, AsyncClient
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from streams.errors import StreamError
from streams.messages.calls import Capabilities
from streams.messages.spec import JobSpec, Run
from tests.conformance.streams_world import LAYOUT, WITHIN_S, JetStreamWorld, until


class Quick(SlurmAdapter):
    """Asked five times a second, so that a job is followed to its end while a test waits."""

    async def capabilities(self) -> Capabilities:
        return replace(await super().capabilities(), find_every_s=0.2)


async def test_a_replica_knows_the_jobs_that_come_after_a_loss_in_place_and_not_those_that_were_lost(
    world: JetStreamWorld,
) -> None:
    pace = SlurmPace(queue_s=0.1, stop_s=0.1, row_s=0.1)
    cluster = Quick(SlurmCluster(name="sim", clock=lambda: datetime.now(UTC), pace=pace))
    settings = ReplicaSettings(name="sv-a", installation=LAYOUT.installation, lease_s=LAYOUT.lease_s, heartbeat_s=0.5)
    spec = JobSpec(cluster="sim", run=Run(command=("sleep", "0.2")))
    await world.remember()
    replica = Replica(await world.connect(), Clusters({"sim": cluster}, None), settings)
    running = asyncio.create_task(replica.run())
    client = AsyncClient(await world.connect(), tenant="nlp", actor="ana", timeout_s=WITHIN_S)
    assert isinstance(await client.submit("lost", spec), Accepted)
    await until(lambda: client.record("lost"), lambda record: record.settled)
    await world.go_back()

    async def forgotten() -> bool:
        return replica.open_jobs.went_back

    async def settled() -> bool:
        try:
            return (await client.record("new")).settled
        except StreamError:
            return False

    await until(forgotten, bool)
    assert isinstance(await client.submit("new", spec), Accepted)
    await until(settled, bool)
    record = await client.record("new")
    assert (await client.record("lost")).empty
    async with asyncio.timeout(WITHIN_S):
        while replica.open_jobs.met.get(("nlp", "new"), 0) < record.revision:
            await asyncio.sleep(0.01)  # waits: the follower to read on
    assert ("nlp", "lost") not in replica.open_jobs.met
    replica.stop()
    await running
