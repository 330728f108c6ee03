"""An agent and its client as a world: the local adapter behind a real server, or any world behind an agent."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats

from adapters.floors import FloorStore
from adapters.remote.agent import Agent
from adapters.remote.client import RemoteAdapter
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec
from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import Behaviour, Execution, World
from tests.servers.nats import one_node


class RemoteWorld(World):
    """The local world, reached through an agent. Cut: the agent's host is frozen with what it was sent."""

    def __init__(self, local: LocalWorld, adapter: RemoteAdapter) -> None:
        self.local = local
        self.adapter = adapter
        self.cluster = local.cluster

    def spec(self, behaviour: Behaviour, *, ranks: int = 1) -> JobSpec:
        return self.local.spec(behaviour, ranks=ranks)

    async def pass_time(self, seconds: float) -> None:
        await self.local.pass_time(seconds)

    async def executions(self, name: JobName) -> list[Execution]:
        return await self.local.executions(name)

    async def cut(self) -> None:
        os.kill(self.local.daemon_pid(), signal.SIGSTOP)

    async def heal(self) -> None:
        os.kill(self.local.daemon_pid(), signal.SIGCONT)


@asynccontextmanager
async def remote_over_local(folder: Path) -> AsyncIterator[RemoteWorld]:
    """A server, an agent and a client, over the local adapter; all ended afterwards."""
    local = LocalWorld(folder)
    async with one_node(folder / "bus") as node:
        agents, clients = await nats.connect(node.url), await nats.connect(node.url)
        agent = Agent(agents, local.adapter, local.cluster, floors=FloorStore(folder / "floors"))
        await agent.start()
        try:
            yield RemoteWorld(local, RemoteAdapter(clients, local.cluster, read_within_s=7.0, call_within_s=7.0))
        finally:
            await agent.drain(1.0)
            await agents.close()
            await clients.close()
            await local.close()
