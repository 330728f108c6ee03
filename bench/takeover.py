"""Take-over after kill -9: how long a job waits whose supervisor dies in the middle of its pass."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from bench.figure import Figure
from bench.ground import LEASE_S
from bench.histories import TENANT
from bench.plant import HEARTBEAT_S, Plant, kill, plant
from dispatch.replica.shards import rank_of
from streams.messages.events import Entry
from streams.subjects import shard_of

ROUNDS = 5
WITHIN_S = 30.0


async def measure() -> Figure:
    """The longest of several, from the kill to the next event of the job, in leases of one second.

    The supervisor is killed while it waits for the cluster's answer with the job's wake-up in hand, and the
    cluster wakes nobody: the worst moment. The message comes back to the other one when its lease has passed.
    """
    async with plant(watch=False) as ground:
        waits = [await _round(ground, number) for number in range(ROUNDS)]
    return Figure(
        name="take-over",
        what="take-over after kill -9, in units of the lease",
        value=max(waits) / LEASE_S,
        unit="leases",
        bar=2.0,
        less_is_better=True,
        parts={"rounds": ROUNDS, "shortest_s": min(waits), "longest_s": max(waits)},
    )


async def _round(ground: Plant, number: int) -> float:
    """Two supervisors live, and the one that comes first for the job's shard has it in hand when it dies."""
    names, adapter = (f"sv-{number}-a", f"sv-{number}-b"), ground.adapter
    async with AsyncExitStack() as stack:
        children = {name: await stack.enter_async_context(ground.supervisor(name)) for name in names}
        await asyncio.sleep(ground.bus.wire.settings.receive_wait_s + 2 * HEARTBEAT_S)  # pulls know the new ranks
        job = f"take-{number}"
        shard = shard_of(TENANT, job, ground.bus.shards)
        first = min(names, key=lambda name: rank_of(shard, name, names))
        adapter.waiting.clear()
        adapter.held.clear()
        await ground.submit(job, "true")
        await adapter.waiting.wait()
        before = await _events(ground, job)
        kill(children[first])
        killed = time.perf_counter()
        adapter.held.set()
        async with asyncio.timeout(WITHIN_S):
            while len(await _events(ground, job)) == len(before):
                await asyncio.sleep(0.005)
        return time.perf_counter() - killed


async def _events(ground: Plant, job: str) -> tuple[Entry, ...]:
    return await ground.bus.history.read(TENANT, job)
