"""A bus in memory, and one replica's connection to it."""

from __future__ import annotations

import asyncio

from streams.memory.buckets import MemoryBuckets
from streams.memory.history import MemoryHistory
from streams.memory.queues import MemoryCommands, MemoryQueue, MemoryWakeUps


class MemoryStore:
    """What every connection shares; it lives as long as one of them. Must be used from one event loop."""

    def __init__(self, *, shards: int, lease_s: float, wait_s: float) -> None:
        self.lease_s = lease_s
        self.wait_s = wait_s
        self.history = MemoryHistory()
        self.buckets = MemoryBuckets()
        self.commands = MemoryQueue(shards, lease_s, coalesce=False)
        self.wakeups = MemoryQueue(shards, lease_s, coalesce=True)
        self.timers: dict[str, asyncio.TimerHandle] = {}


class MemoryBus:
    """`streams.ports.Bus` in memory. `lease_s`: how long a message stays in hand unacknowledged.

    `wait_s`: how long `receive` waits. With `store`, one more connection to a bus that exists.
    """

    def __init__(
        self, *, shards: int = 8, lease_s: float = 30.0, wait_s: float = 3.0, store: MemoryStore | None = None
    ) -> None:
        self.store = store or MemoryStore(shards=shards, lease_s=lease_s, wait_s=wait_s)
        self.shards = len(self.store.commands.shards)
        self.lease_s = self.store.lease_s
        self.generation = 1
        self.history = self.store.history
        self.buckets = self.store.buckets
        self.commands = MemoryCommands(self.store.commands, wait_s=self.store.wait_s)
        self.wakeups = MemoryWakeUps(self.store.wakeups, self.store.timers, wait_s=self.store.wait_s)

    @property
    def reconnects(self) -> int:
        return 0

    def connect(self) -> MemoryBus:
        """Another replica's connection to the same store."""
        return MemoryBus(store=self.store)

    async def close(self) -> None:
        """Nothing is in flight in memory; messages and timers stay for the other connections."""
