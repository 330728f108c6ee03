"""A watch only wakes (L13): whatever becomes of it, the agent goes on, and ends in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import ClassVar

import pytest

from adapters.floors import FloorStore
from adapters.remote import agent as agents
from adapters.remote.agent import Agent
from adapters.simulated.adapter import SlurmAdapter
from streams import subjects
from streams.memory.bus import MemoryBus
from streams.messages.calls import JobName
from tests.integration.nats.test_agents import NAME, Stand, stand, start_call

__all__ = ["stand"]


class Faltering(SlurmAdapter):
    """Its watch fails in another way each time it is begun, and then tells one name."""

    faults: ClassVar[list[Exception]] = [ValueError("a torn line"), OSError(28, "No space left on device")]

    async def watch(self) -> AsyncIterator[JobName]:
        if self.faults:
            raise self.faults.pop()
        yield NAME


async def test_a_watch_survives_any_fault_of_its_adapter(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "WATCH_AGAIN_S", 0.01)
    bus = MemoryBus()
    adapter = Faltering(stand.cluster, pause=lambda: asyncio.sleep(stand.step_s))
    agent = Agent(stand.near, adapter, "sim", floors=FloorStore(stand.folder / "floors"))
    await agent.start(wakeups=bus.wakeups)
    shard = subjects.shard_of(NAME.tenant, NAME.job, bus.shards)
    woken = None
    while woken is None:
        woken = await bus.wakeups.receive(shard, rank=0)
    assert (woken.tenant, woken.job) == ("nlp", "llama")
    assert adapter.faults == []
    await agent.drain(1.0)
    await bus.close()


class Interrupted(SlurmAdapter):
    """Its watch fails in a way that nothing survives."""

    async def watch(self) -> AsyncIterator[JobName]:
        raise GeneratorExit
        yield NAME


async def test_a_watch_that_ended_badly_keeps_no_agent_from_draining(stand: Stand) -> None:
    bus = MemoryBus()
    adapter = Interrupted(stand.cluster, stand.door, pause=lambda: asyncio.sleep(stand.step_s))
    agent = Agent(stand.near, adapter, "sim", floors=FloorStore(stand.folder / "floors"))
    await agent.start(wakeups=bus.wakeups)
    stand.door.open.clear()
    in_hand = asyncio.create_task(stand.adapter.start(start_call(1)))
    while not stand.door.on_it:
        await asyncio.sleep(0)
    draining = asyncio.create_task(agent.drain(5.0))
    stand.door.open.set()
    await draining
    assert (await in_hand).cluster == "sim"
    assert agent.in_hand == 0
    await bus.close()
