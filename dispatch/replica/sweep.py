"""The sweep: every open job is looked at now and then, whatever wake-ups were lost (L13).

A replica follows the whole history, holds the names of the open jobs, and wakes those whose shard it comes first
for, spread over the interval.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from streams import subjects
from streams.errors import StreamError
from streams.messages.events import Entry, Envelope, JobSettled
from streams.ports import Caught, History, WakeUps

SETTLED_WATCHED = timedelta(hours=1)

log = structlog.get_logger("dispatch.sweep")
Name = tuple[str, str]


class OpenJobs:
    """Names of jobs that are not settled, and of those settled a short while ago."""

    def __init__(self) -> None:
        self.open: set[Name] = set()
        self.settled: dict[Name, datetime] = {}
        self.revision = 0
        self.complete = asyncio.Event()

    def apply(self, entry: Entry) -> None:
        """One more entry of any job; controls are no job."""
        self.revision = entry.revision
        if entry.job == subjects.CONTROLS:
            return
        name = (entry.tenant, entry.job)
        if isinstance(entry.content, Envelope) and isinstance(entry.content.event, JobSettled):
            self.open.discard(name)
            self.settled[name] = entry.stored_at
        elif name not in self.settled:
            self.open.add(name)

    def to_look_at(self, now: datetime) -> tuple[Name, ...]:
        """Every open job, and the lately settled ones, whose objects may yet be run by hand (L1)."""
        self.settled = {n: at for n, at in self.settled.items() if now - at < SETTLED_WATCHED} | {
            n: at for n, at in self.settled.items() if n in self.open
        }
        return (*sorted(self.open), *sorted(self.settled))


async def follow(history: History, jobs: OpenJobs, seen: Callable[[Entry], None]) -> None:
    """Keep the open jobs current for ever; a lost bus is waited for, and nothing is missed."""
    while True:
        try:
            async for item in history.follow(after=jobs.revision):
                if isinstance(item, Caught):
                    jobs.complete.set()
                    continue
                jobs.apply(item)
                seen(item)
        except StreamError as error:
            log.warning("following the history again", why=str(error))
            await asyncio.sleep(1.0)


async def sweep(
    jobs: OpenJobs, wakeups: WakeUps, every_s: float, mine: Callable[[Name], bool], now: Callable[[], datetime]
) -> None:
    """Wake this replica's open jobs at once when it starts, then all of them within every interval."""
    await jobs.complete.wait()
    first = True
    while True:
        names = [n for n in jobs.to_look_at(now()) if mine(n)]
        pause = 0.0 if first else every_s * random.uniform(0.8, 1.2) / max(len(names), 1)
        for tenant, job in names:
            await asyncio.sleep(pause)
            try:
                await wakeups.wake(tenant, job)
            except StreamError as error:
                log.warning("wake-up lost", job=job, why=str(error))
        if first or not names:
            await asyncio.sleep(every_s * random.uniform(0.8, 1.2))
        first = False


def shard_guess(name: Name, shards: int) -> int:
    """A number that all replicas agree on, so that one of them wakes a job; need not be the server's own."""
    return zlib.crc32(".".join(name).encode()) % max(shards, 1)
