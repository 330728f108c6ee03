"""Where supervisors are killed and frozen: a bus, a local cluster, and whoever carries on what they left."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from projections.record import Record
from projections.verify import verify
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.layout import Layout
from streams.jetstream.settings import BusSettings
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from tests.integration.kills import marks
from tests.integration.kills.lone import INSTALLATION, Fault, Lone, Place, QuickAdapter, Scenario
from tests.integration.kills.points import Points
from tests.integration.kills.scenarios import TENANT, in_child
from tests.servers.nats import one_node

AT_ONCE = 4
JUDGED_AT_ONCE = 24
SETTLES_WITHIN_S = 120.0
CHILD_WITHIN_S = 90.0
FROZEN_S = 9.0  # longer than the lease and than the bound of any call here

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.integration.kills.scenarios"])


class Stand:
    """A bus and a local cluster. Each job has one supervisor that is hit, and one that carries on and knows nothing."""

    def __init__(self, bus: JetStreamBus, place: Place, directory: Path) -> None:
        self.bus = bus
        self.place = place
        self.directory = directory
        self.marks = directory / "marks"
        self.marks.mkdir()
        self._judging = asyncio.Semaphore(JUDGED_AT_ONCE)

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
            await self._thaw(process, make, job)
        await asyncio.to_thread(process.join, CHILD_WITHIN_S)
        fault = told.with_suffix(".fault")
        # A forkserver may lose the exit code of a child that was killed; what the child told is kept.
        assert process.exitcode == 0 or told.exists(), (
            f"{job}: {fault.read_text() if fault.exists() else process.exitcode}"
        )
        if not told.exists():
            told.write_text("missed: it was over before that point")
        return told.read_text()

    async def _thaw(
        self, process: multiprocessing.process.BaseProcess, make: Callable[[str], Scenario], job: str
    ) -> None:
        """Once it is frozen let another supervisor do all it can, then let it run on from its stale view."""
        told = self.directory / f"told-{job}"
        while not told.exists() and process.is_alive():
            await asyncio.sleep(0.02)  # waits: the process to reach its point
        if not process.is_alive() or process.pid is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FROZEN_S):
                await self.carry_on(make(job))
        os.kill(process.pid, signal.SIGCONT)

    async def carry_on(self, scenario: Scenario) -> Record:
        return await Lone(self.place, Points(0, signal.SIGKILL, lambda name: None)).carry_on(scenario)

    async def judge(self, scenario: Scenario, allowed: list[list[int]]) -> None:
        """The job carried on to its end, and what its own processes say of it."""
        job = scenario.submit.job
        async with self._judging, asyncio.timeout(SETTLES_WITHIN_S):
            await self.carry_on(scenario)
        own = marks.read(self.marks, job)
        told = (self.directory / f"told-{job}").read_text()
        why = f"{job}, {told}"
        assert marks.overlap(own) is None, f"{why}: {marks.overlap(own)}"
        assert marks.executions(own) in allowed, f"{why}: ran {marks.executions(own)}"
        assert marks.alive(self.marks, job) == [], f"{why}: {marks.alive(self.marks, job)}"
        verdict = verify(await self.bus.history.read(TENANT, job))
        assert not verdict.broken, f"{why}: {verdict.broken}"


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
        QuickAdapter(place.state_dir, slots=512)  # jobs whose supervisor was killed run on until they are carried on
        try:
            yield Stand(bus, place, directory)
        finally:
            marks.end_all(directory / "marks")
            await bus.close()
