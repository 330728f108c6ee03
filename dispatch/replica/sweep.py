"""The sweep: every open job is looked at now and then, whatever wake-ups were lost (L13).

A replica wakes the open jobs whose shard it comes first for, spread over the interval, and the one that comes first
of all keeps the status bucket's checkpoint.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Callable, Iterable
from datetime import datetime

import structlog

from dispatch.replica.follower import Name, OpenJobs, follow, write_checkpoint
from streams.errors import StreamError
from streams.messages.events import Entry
from streams.ports import Bus

REPLAY_EVERY = 288

log = structlog.get_logger("dispatch.sweep")


class Sweep:
    """`mine` says which jobs this replica comes first for; `first` whether it comes first of all."""

    def __init__(
        self, bus: Bus, jobs: OpenJobs, every_s: float, mine: Callable[[Name], bool], now: Callable[[], datetime]
    ) -> None:
        self._bus = bus
        self._jobs = jobs
        self._every_s = every_s
        self._mine = mine
        self._now = now

    async def run(self, first: Callable[[], bool], by: str) -> None:
        """Wake this replica's open jobs at once when it starts, then all of them within every interval."""
        await self._jobs.complete.wait()
        await self._wake(self._due(), 0.0)
        rounds = 0
        while True:
            rounds += 1
            if first():
                await self._check(by, replay=rounds % REPLAY_EVERY == 0)
            names = self._due()
            if names:
                await self._wake(names, self._every_s * random.uniform(0.8, 1.2) / len(names))
            else:
                await asyncio.sleep(self._every_s * random.uniform(0.8, 1.2))

    def _due(self) -> list[Name]:
        return [name for name in self._jobs.to_look_at(self._now()) if self._mine(name)]

    async def _wake(self, names: Iterable[Name], pause_s: float) -> None:
        for tenant, job in names:
            await asyncio.sleep(pause_s)
            try:
                await self._bus.wakeups.wake(tenant, job)
            except StreamError as error:
                log.warning("wake-up lost", job=job, why=str(error))

    async def _check(self, by: str, *, replay: bool) -> None:
        """Correct the bucket: the checkpoint, entries that are behind, and now and then all from the first event."""
        try:
            behind = await write_checkpoint(self._jobs, self._bus.buckets, self._now(), by)
            await self._wake(behind, 0.0)
            if replay:
                await self._wake(await self._missed(), 0.0)
        except StreamError as error:
            log.warning("checkpoint not written", why=str(error))

    async def _missed(self) -> list[Name]:
        """Jobs that a replay of the whole history shows open and the cache does not hold. Raises as `follow`."""
        whole = OpenJobs()

        async def unseen(entry: Entry) -> None: ...

        replaying = asyncio.create_task(follow(self._bus.history, whole, unseen))
        over = asyncio.create_task(whole.complete.wait())
        try:
            await asyncio.wait({replaying, over}, return_when=asyncio.FIRST_COMPLETED)
            if not over.done():
                await replaying
        finally:
            replaying.cancel()
            over.cancel()
            await asyncio.gather(replaying, over, return_exceptions=True)
        missed = sorted(whole.open - self._jobs.open - set(self._jobs.settled))
        self._jobs.open.update(missed)
        return missed


def shard_guess(name: Name, shards: int) -> int:
    """A number that all replicas agree on, so that one of them wakes a job; need not be the server's own."""
    return zlib.crc32(".".join(name).encode()) % max(shards, 1)
