"""Jobs settled a second: a simulated cluster behind an agent, and one, two and four supervisors."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from bench.figure import Figure
from bench.plant import Plant, plant
from streams.messages.events import Entry, Envelope, JobSettled
from streams.ports import Caught

JOBS = 150
REPLICAS = (1, 2, 4)
WITHIN_S = 180.0
SUBMITTING = 32


async def measure(jobs: int = JOBS) -> Figure:
    """From the first submit to the last settlement; each job's program ends as soon as it runs."""
    rates: dict[str, float] = {}
    for count in REPLICAS:
        async with plant() as ground, AsyncExitStack() as stack:
            for number in range(count):
                await stack.enter_async_context(ground.supervisor(f"sv-{number + 1}"))
            rates[f"jobs_per_s_{count}_replica{'s' if count > 1 else ''}"] = jobs / await _settle(ground, jobs)
    return Figure(
        name="settling",
        what=f"jobs settled a second, {jobs} at once, simulated Slurm behind an agent",
        value=max(rates.values()),
        unit="jobs/s",
        parts={"jobs": jobs, **rates},
    )


async def _settle(ground: Plant, jobs: int) -> float:
    settled = asyncio.create_task(_count(ground, jobs))
    begun, turns = time.perf_counter(), asyncio.Semaphore(SUBMITTING)

    async def submit(number: int) -> None:
        async with turns:
            await ground.submit(f"job-{number}", "true")

    await asyncio.gather(*(submit(number) for number in range(jobs)))
    async with asyncio.timeout(WITHIN_S):
        return await settled - begun


async def _count(ground: Plant, jobs: int) -> float:
    """When the last of so many jobs was settled."""
    async for item in ground.bus.history.follow():
        if not isinstance(item, Caught) and _settles(item):
            jobs -= 1
            if not jobs:
                break
    return time.perf_counter()


def _settles(entry: Entry) -> bool:
    return isinstance(entry.content, Envelope) and isinstance(entry.content.event, JobSettled)
