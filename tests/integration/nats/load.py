"""Work that goes on while servers die: writers, a follower, and replicas that turn commands into events.

Everything a server acknowledged is noted here, so that a test can hold the bus to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from streams import codec
from streams.errors import BusUnreachableError, ConflictError, StreamError, UndecidedError
from streams.jetstream.connect import BusSettings, JetStreamBus, connect
from streams.messages.event_ids import event_id
from streams.messages.events import Entry, Envelope, JobCancelled
from streams.messages.reasons import Reason
from streams.messages.receipts import Progress
from streams.ports import Bus, Caught, Delivery
from tests.conformance.streams_world import AT, a_cancel, a_receipt, an_event, until
from tests.servers.nats import NatsNode

PAUSE_S = 0.02


class Load:
    """Tasks on a cluster until `stop`."""

    def __init__(self, nodes: Sequence[NatsNode]) -> None:
        self._settings = BusSettings(urls=tuple(node.url for node in nodes), receive_wait_s=1.0)
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._buses: list[JetStreamBus] = []
        self.acknowledged: dict[str, list[tuple[int, str]]] = {}
        self.published: list[str] = []
        self.followed: list[Entry] = []
        self.handled = 0

    async def connect(self) -> JetStreamBus:
        bus = await connect(self._settings)
        self._buses.append(bus)
        return bus

    async def start(self, *, writers: int, shards: int) -> None:
        for number in range(writers):
            self._run(self._write(await self.connect(), f"job-{number}"))
        self._run(self._publish(await self.connect()))
        for replica in range(2):
            bus = await self.connect()
            for shard in range(shards):
                self._run(self._decide(bus, shard, rank=(replica + shard) % 2))
        self._run(self._follow(await self.connect()))

    async def stop(self) -> None:
        """Let every task end its step; then close what was opened."""
        self._stopping.set()
        follower = self._tasks.pop()
        await asyncio.gather(*self._tasks)
        follower.cancel()
        await asyncio.gather(follower, return_exceptions=True)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for bus in self._buses:
            await bus.close()

    async def progress(self) -> None:
        """Until every writer, the publisher and the replicas got something done from now on."""
        counts = {job: len(events) for job, events in self.acknowledged.items()}
        before = (*counts.values(), len(self.published), self.handled, len(self.followed))

        async def gained() -> int:
            now = (*map(len, self.acknowledged.values()), len(self.published), self.handled, len(self.followed))
            return min(after - earlier for after, earlier in zip(now, before, strict=True))

        await until(gained, lambda least: least > 3, within_s=60)

    def _run(self, work: object) -> None:
        self._tasks.append(asyncio.create_task(work))  # type: ignore[arg-type]

    async def _write(self, bus: Bus, job: str) -> None:
        """A chain of conditional events; an undecided one is made again until it is decided."""
        done = self.acknowledged.setdefault(job, [])
        last = number = 0
        while not self._stopping.is_set():
            number += 1
            event = an_event(number, job=job, expected=last)
            last = await self._append(bus, event)
            done.append((last, event.id))
            await asyncio.sleep(PAUSE_S)  # waits: the pace of the load

    async def _append(self, bus: Bus, event: Envelope) -> int:
        while True:
            try:
                return await bus.history.append(event)
            except (UndecidedError, BusUnreachableError):
                continue

    async def _publish(self, bus: Bus) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            command = a_cancel(f"c-{number}", job=f"cmd-{number % 5}")
            try:
                await bus.commands.publish(command, actor="ana")
            except (UndecidedError, BusUnreachableError):
                continue
            self.published.append(command.command)
            await asyncio.sleep(2 * PAUSE_S)  # waits: the pace of the load

    async def _decide(self, bus: Bus, shard: int, *, rank: int) -> None:
        while not (self._stopping.is_set() and await self._is_empty(bus)):
            try:
                delivery = await bus.commands.receive(shard, rank=rank)
                if delivery is not None:
                    await self._handle(bus, delivery)
            except ConflictError:
                continue  # another replica decided: the command comes back and is found handled
            except StreamError:
                await asyncio.sleep(PAUSE_S)  # waits: the bus is away

    async def _is_empty(self, bus: Bus) -> bool:
        try:
            return await bus.commands.waiting() == 0
        except StreamError:
            return False

    async def _handle(self, bus: Bus, delivery: Delivery) -> None:
        """Append, receipt, acknowledge: in this order, so that whoever dies between leaves it to the next."""
        command = codec.decode_command(delivery.subject, delivery.data)
        entries = await bus.history.read("nlp", command.job)
        known = {entry.content.command for entry in entries if isinstance(entry.content, Envelope)}
        if command.command not in known:
            await self._append(bus, _decided(command.command, command.job, entries[-1].revision if entries else 0))
        await bus.buckets.put_receipt(a_receipt(command.command, Progress.COMMITTED))
        await delivery.ack()
        self.handled += 1

    async def _follow(self, bus: Bus) -> None:
        async for item in bus.history.follow():
            if not isinstance(item, Caught):
                self.followed.append(item)


def _decided(command: str, job: str, expected: int) -> Envelope:
    """The same command, decided at the same revision, is the same event, whoever decides it."""
    number = int(command.removeprefix("c-"))
    return Envelope(
        id=event_id(AT, (number << 40 | expected).to_bytes(10, "big")),
        tenant="nlp",
        job=job,
        expected=expected,
        at=AT,
        by="replica:sv-a",
        reason=Reason.PERSON_CANCEL,
        command=command,
        event=JobCancelled(),
    )


async def whole_history(bus: Bus) -> list[Entry]:
    """Every entry of the history, once the follower caught up with the end."""
    entries: list[Entry] = []
    async for item in bus.history.follow():
        if isinstance(item, Caught):
            break
        entries.append(item)
    return entries


async def leader_of(bus: JetStreamBus, stream: str) -> str:
    """The name of the server that leads a stream."""

    async def ask() -> str:
        try:
            info = await bus.wire.api(f"STREAM.INFO.{stream}")
        except StreamError:
            return ""
        return str((info.get("cluster") or {}).get("leader") or "")

    return await until(ask, bool)
