"""Work queues in memory: sharded like the server's, one message in hand per shard, back after a lease."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime

from streams import codec, subjects
from streams.messages.commands import Command


class MemoryDelivery:
    """One message in hand; it satisfies both `Delivery` and `WakeDelivery`."""

    def __init__(self, shard: Shard, *, sequence: int, subject: str, data: bytes) -> None:
        self.sequence = sequence
        self.subject = subject
        self.data = data
        self._shard = shard

    @property
    def tenant(self) -> str:
        return self.subject.split(".")[2]

    @property
    def job(self) -> str:
        return self.subject.split(".")[-1]

    async def ack(self) -> None:
        self._shard.done(self.sequence)

    async def in_progress(self) -> None:
        self._shard.keep(self.sequence)


class Shard:
    """The messages of one shard, in order, and who waits for the next."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._messages: dict[int, tuple[str, bytes]] = {}
        self._in_hand: int | None = None
        self._lease: asyncio.TimerHandle | None = None
        self._waiting: list[tuple[int, int, asyncio.Future[MemoryDelivery]]] = []
        self._turns = itertools.count()

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, sequence: int, subject: str, data: bytes, *, coalesce: bool) -> None:
        """Add a message; with `coalesce` an older one of the same subject is dropped, in hand or not."""
        if coalesce:
            self._messages = {key: held for key, held in self._messages.items() if held[0] != subject}
        self._messages[sequence] = (subject, data)
        self._serve()

    async def take(self, rank: int, wait_s: float) -> MemoryDelivery | None:
        """The next message, served to the lowest rank that waits; None after `wait_s`."""
        future: asyncio.Future[MemoryDelivery] = asyncio.get_running_loop().create_future()
        self._waiting.append((rank, next(self._turns), future))
        self._serve()
        try:
            async with asyncio.timeout(wait_s):
                return await future
        except TimeoutError:
            return None
        finally:
            self._waiting = [waiting for waiting in self._waiting if waiting[2] is not future]

    def done(self, sequence: int) -> None:
        self._messages.pop(sequence, None)
        if sequence == self._in_hand:
            self._let_go()

    def keep(self, sequence: int) -> None:
        if sequence == self._in_hand:
            self._start_lease()

    def _serve(self) -> None:
        waiting = sorted(entry for entry in self._waiting if not entry[2].done())
        if self._in_hand is not None or not self._messages or not waiting:
            return
        sequence = min(self._messages)
        subject, data = self._messages[sequence]
        self._in_hand = sequence
        self._start_lease()
        waiting[0][2].set_result(MemoryDelivery(self, sequence=sequence, subject=subject, data=data))

    def _start_lease(self) -> None:
        if self._lease is not None:
            self._lease.cancel()
        self._lease = asyncio.get_running_loop().call_later(self._lease_s, self._let_go)

    def _let_go(self) -> None:
        if self._lease is not None:
            self._lease.cancel()
        self._in_hand = self._lease = None
        self._serve()


class MemoryQueue:
    """All shards of one queue and its sequence."""

    def __init__(self, shards: int, lease_s: float, *, coalesce: bool) -> None:
        self.shards = tuple(Shard(lease_s) for _ in range(shards))
        self._coalesce = coalesce
        self._sequence = itertools.count(1)

    def put(self, tenant: str, job: str, subject: str, data: bytes) -> int:
        sequence = next(self._sequence)
        shard = self.shards[subjects.shard_of(tenant, job, len(self.shards))]
        shard.put(sequence, subject, data, coalesce=self._coalesce)
        return sequence


class MemoryCommands:
    """`streams.ports.Commands` over a queue."""

    def __init__(self, queue: MemoryQueue, *, wait_s: float) -> None:
        self._queue = queue
        self._wait_s = wait_s

    async def publish(self, command: Command, *, actor: str) -> int:
        subject = subjects.command(command.tenant, actor, codec.verb_of(command), command.job)
        return await self.publish_bytes(subject, codec.encode_command(command))

    async def publish_bytes(self, subject: str, data: bytes) -> int:
        address = subjects.parse_command(subject)
        return self._queue.put(address.tenant, address.job, subject, data)

    async def receive(self, shard: int, *, rank: int) -> MemoryDelivery | None:
        return await self._queue.shards[shard].take(rank, self._wait_s)

    async def waiting(self) -> int:
        return sum(len(shard) for shard in self._queue.shards)


class MemoryWakeUps:
    """`streams.ports.WakeUps` over a coalescing queue; timers are the event loop's."""

    def __init__(self, queue: MemoryQueue, timers: dict[str, asyncio.TimerHandle], *, wait_s: float) -> None:
        self._queue = queue
        self._timers = timers
        self._wait_s = wait_s

    async def wake(self, tenant: str, job: str) -> None:
        self._queue.put(tenant, job, subjects.wake(tenant, job), b"")

    async def receive(self, shard: int, *, rank: int) -> MemoryDelivery | None:
        return await self._queue.shards[shard].take(rank, self._wait_s)

    async def wake_at(self, tenant: str, job: str, due_at: datetime) -> None:
        subject = subjects.wake(tenant, job)
        earlier = self._timers.pop(subject, None)
        if earlier is not None:
            earlier.cancel()
        delay_s = max(0.0, (due_at - datetime.now(UTC)).total_seconds())
        self._timers[subject] = asyncio.get_running_loop().call_later(delay_s, self._ring, tenant, job, subject)

    def _ring(self, tenant: str, job: str, subject: str) -> None:
        self._timers.pop(subject, None)
        self._queue.put(tenant, job, subject, b"")
