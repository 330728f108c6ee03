"""The whole installation as processes: a server, an agent with the simulated cluster, supervisors, a client."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from adapters.floors import FloorStore
from adapters.remote.agent import Agent
from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from bench.ground import ground, settings_of
from bench.histories import TENANT
from dispatch.client import AsyncClient
from dispatch.supervise import SuperviseOptions
from streams.jetstream.connect import JetStreamBus, connect
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Found
from tests.servers.nats import NatsNode

CLUSTER = "sim"
LOOK_EVERY_S = 0.1
LIVE_WITHIN_S = 30.0
HEARTBEAT_S = 0.5


async def _pause() -> None:
    await asyncio.sleep(LOOK_EVERY_S)


class HeldBack(SlurmAdapter):
    """A simulated cluster whose Find gives no answer while `held` is clear; `waiting` is set by one that waits."""

    def __init__(self, cluster: SlurmCluster, *, watch: bool) -> None:
        super().__init__(cluster, pause=_pause if watch else None)
        self.held = asyncio.Event()
        self.held.set()
        self.waiting = asyncio.Event()

    async def find(self, name: JobName) -> Found:
        if not self.held.is_set():
            self.waiting.set()
            await self.held.wait()
        return await super().find(name)


class Plant:
    """One server, one agent in this process, and any number of supervisors, each a process of its own."""

    def __init__(self, directory: Path, node: NatsNode, bus: JetStreamBus, adapter: HeldBack) -> None:
        self.directory = directory
        self.node = node
        self.bus = bus
        self.adapter = adapter
        self.client = AsyncClient(bus, tenant=TENANT, actor="ana", timeout_s=60.0)

    @asynccontextmanager
    async def supervisor(self, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A live supervisor process; told to end at the end, if it still runs."""
        options = SuperviseOptions(
            nats=(self.node.url,),
            monitoring=(self.node.monitoring_url,),
            single=True,
            name=name,
            heartbeat_s=HEARTBEAT_S,
            drain_s=2.0,
        )
        path = self.directory / f"{name}.json"
        path.write_bytes(msgspec.json.encode(options))
        with (self.directory / f"{name}.log").open("wb") as log:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "dispatch.supervise", str(path), stderr=log
            )
        try:
            async with asyncio.timeout(LIVE_WITHIN_S):
                while name not in await self.bus.buckets.replicas():
                    await asyncio.sleep(0.05)
            yield child
        finally:
            if child.returncode is None:
                child.send_signal(signal.SIGTERM)
            await child.wait()

    async def submit(self, job: str, program: str) -> None:
        """Give the cluster one job of one rank; returns when a supervisor has taken it."""
        await self.client.submit(job, JobSpec(cluster=CLUSTER, run=Run(command=("sh", "-c", program))))

    async def until(self, met: Callable[[], bool], *, within_s: float) -> None:
        """Wait until it is so, looking often; TimeoutError if it is never so."""
        async with asyncio.timeout(within_s):
            while not met():
                await asyncio.sleep(0.005)


@asynccontextmanager
async def plant(*, watch: bool = True) -> AsyncIterator[Plant]:
    """Everything but supervisors, removed at the end. Without `watch` the cluster wakes nobody."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dispatch-bench-")))
        node = await stack.enter_async_context(ground())
        nodes = tuple(f"n{number}" for number in range(1, 65))
        cluster = SlurmCluster(
            name=CLUSTER, clock=lambda: datetime.now(UTC), settings=SlurmSettings(nodes=nodes), pace=SlurmPace()
        )
        adapter = HeldBack(cluster, watch=watch)
        served = await connect(settings_of(node))
        stack.push_async_callback(served.close)
        agent = Agent(served.wire.client, adapter, CLUSTER, floors=FloorStore(directory / "floors"))
        await agent.start(wakeups=served.wakeups)
        stack.push_async_callback(agent.drain, 1.0)
        bus = await connect(settings_of(node))
        stack.push_async_callback(bus.close)
        yield Plant(directory, node, bus, adapter)


def kill(child: asyncio.subprocess.Process) -> None:
    """SIGKILL, as a crash of its machine would end it."""
    os.kill(child.pid, signal.SIGKILL)
