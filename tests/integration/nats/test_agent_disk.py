"""What an agent was called with is on its disk before the call runs, and nobody else waits for that disk (L10, L14)."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from adapters.floors import FloorStore
from adapters.remote.agent import Agent
from adapters.simulated.adapter import SlurmAdapter
from streams.messages.calls import JobName
from streams.messages.values import Floor
from tests.conformance.streams_world import WITHIN_S
from tests.integration.nats.test_agents import NAME, Stand, stand, start_call

__all__ = ["stand"]


class SlowDisk(FloorStore):
    """Each note waits until it is let go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.noting = threading.Event()
        self.let_go = threading.Event()
        self.noted: list[int] = []

    def note(self, name: JobName, pair: Floor) -> None:
        self.noting.set()
        assert self.let_go.wait(WITHIN_S)
        super().note(name, pair)
        self.noted.append(pair.revision)


async def test_a_call_runs_once_its_pair_is_on_disk_and_no_other_answer_waits_for_that(stand: Stand) -> None:
    disk = SlowDisk(stand.folder / "floors")
    agent = Agent(stand.near, SlurmAdapter(stand.cluster, stand.door), "sim", floors=disk)
    await agent.start()
    starting = asyncio.create_task(stand.adapter.start(start_call()))
    assert await asyncio.to_thread(disk.noting.wait, WITHIN_S)
    assert (await stand.adapter.capabilities()).kind == "simulated-slurm"
    assert stand.cluster.jobs == []
    disk.let_go.set()
    await starting
    assert len(stand.cluster.jobs) == 1
    assert (await stand.adapter.find(NAME)).floor == start_call().pair
    await agent.drain(1.0)


async def test_pairs_are_kept_one_at_a_time_in_the_order_of_their_calls(stand: Stand) -> None:
    disk = SlowDisk(stand.folder / "floors")
    agent = Agent(stand.near, SlurmAdapter(stand.cluster, stand.door), "sim", floors=disk)
    await agent.start()
    first = asyncio.create_task(stand.adapter.start(start_call(1)))
    assert await asyncio.to_thread(disk.noting.wait, WITHIN_S)
    second = asyncio.create_task(stand.adapter.start(start_call(2)))
    while agent.in_hand < 2:
        await asyncio.sleep(0)
    disk.let_go.set()
    await asyncio.gather(first, second)
    assert disk.noted == [101, 102]
    assert FloorStore(stand.folder / "floors").newest(NAME) == start_call(2).pair
    await agent.drain(1.0)
