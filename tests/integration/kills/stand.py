"""Where supervisors are killed and frozen: a bus, a local cluster, and a replica that carries on what they left."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from projections.evolve import empty, fold
from projections.record import Record
from projections.verify import verify
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.layout import Layout
from streams.jetstream.settings import BusSettings
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from tests.integration.kills import marks
from tests.integration.kills.lone import INSTALLATION, Fault, Place, QuickAdapter, Scenario
from tests.integration.kills.scenarios import TENANT, in_child
from tests.servers.nats import one_node

AT_ONCE = 4
SETTLES_WITHIN_S = 120.0
CHILD_WITHIN_S = 90.0
FROZEN_S = 6.0  # longer than the lease and than the bound of any call here

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.integration.kills.scenarios"])


class Stand:
    """A bus, a local cluster, and a replica that carries on whatever the killed ones left."""

    def __init__(self, bus: JetStreamBus, place: Place, directory: Path) -> None:
        self.bus = bus
        self.place = place
        self.directory = directory
        self.marks = directory / "marks"
        self.marks.mkdir()

    async def enumerate(self, kind: str, make: Callable[[str], Scenario], number: signal.Signals) -> dict[str, str]:
        """Every point of the scenario, each with a job of its own; what was told of each job."""
        whole = await self._one(f"{kind}-0", make, 0, number)
        assert whole.startswith("whole "), whole
        points = int(whole.split()[1])
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(at: int) -> tuple[str, str]:
            async with gate:
                job = f"{kind}-{at}"
                return job, await self._one(job, make, at, number)

        told = dict(await asyncio.gather(*(one(at) for at in range(1, points + 1))))
        return {f"{kind}-0": whole, **told}

    async def _one(self, job: str, make: Callable[[str], Scenario], at: int, number: signal.Signals) -> str:
        told = self.directory / f"told-{job}"
        process = FORKS.Process(target=in_child, args=(self.place, make, job, Fault(at, number, told)))
        process.start()
        if number is signal.SIGSTOP and at:
            await self._thaw(process, job, told)
        await asyncio.to_thread(process.join, CHILD_WITHIN_S)
        assert process.exitcode in (0, -9), f"{job}: exit {process.exitcode}"
        return told.read_text() if told.exists() else "missed"

    async def _thaw(self, process: multiprocessing.process.BaseProcess, job: str, told: Path) -> None:
        """Once it is frozen let the other replica do all it can, then let it run on from its stale view."""
        while not told.exists() and process.is_alive():
            await asyncio.sleep(0.02)  # waits: the process to reach its point
        if not process.is_alive() or process.pid is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FROZEN_S):
                await self.settled(job)
        os.kill(process.pid, signal.SIGCONT)

    async def settled(self, job: str) -> Record:
        """The job's record once it is settled; woken by whoever carries on."""
        await self.bus.wakeups.wake(TENANT, job)
        record = empty(TENANT, job)
        async with asyncio.timeout(SETTLES_WITHIN_S):
            while True:
                record = fold(record, await self.bus.history.read(TENANT, job, after=record.revision))
                if record.empty or record.settled:
                    return record
                await asyncio.sleep(0.2)  # waits: a replica that wakes for it

    async def judge(self, job: str, allowed: list[list[int]]) -> None:
        record = await self.settled(job)
        own = marks.read(self.marks, job)
        allowed = [[]] if record.empty else allowed  # the command itself was never appended
        told = (self.directory / f"told-{job}").read_text()
        why = f"{job}, {told}"
        assert marks.overlap(own) is None, why
        assert marks.executions(own) in allowed, f"{why}: ran {marks.executions(own)}"
        assert marks.alive(job) == [], why
        verdict = verify(await self.bus.history.read(TENANT, job))
        assert not verdict.broken, f"{why}: {verdict.broken}"
        assert record.empty or record.settled, why


@contextlib.asynccontextmanager
async def stand(directory: Path) -> AsyncIterator[Stand]:
    async with one_node(directory / "bus") as node:
        settings = BusSettings(urls=(node.url,), monitoring_urls=(node.monitoring_url,))
        wire = Wire(settings)
        await wire.connect()
        await setup(wire, Layout(installation=INSTALLATION, replicas=1, shards=8, lease_s=1.0))
        await wire.close()
        bus = await connect(settings)
        place = Place(node.url, directory / "local")
        adapter = QuickAdapter(place.state_dir, slots=16)
        replica = Replica(
            await connect(settings),
            Clusters({"local": adapter}, None),
            ReplicaSettings(name="carries-on", installation=INSTALLATION, lease_s=1.0, sweep_s=3600.0, passes_max=4),
        )
        running = asyncio.create_task(replica.run())
        try:
            yield Stand(bus, place, directory)
        finally:
            replica.stop()
            await running
            await replica.bus.close()
            await bus.close()
