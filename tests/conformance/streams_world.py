"""Where the streams suite runs: a bus in memory, or a real server; and events to put on it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from streams import codec, subjects
from streams.jetstream.connect import BusSettings, JetStreamBus, connect
from streams.jetstream.layout import COMMANDS, Layout, history_stream
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire, answer_of
from streams.memory import MemoryBus
from streams.messages.commands import CancelJob
from streams.messages.event_ids import event_id
from streams.messages.events import Envelope, HoldLifted
from streams.messages.reasons import Reason
from streams.messages.receipts import Answer, Progress, Receipt
from streams.ports import Bus, Caught

AT = datetime(2026, 11, 28, 21, 14, tzinfo=UTC)
LAYOUT = Layout(replicas=1, shards=4, lease_s=1.0)
WITHIN_S = 20.0

_T = TypeVar("_T")


class BusWorld(Protocol):
    """One store of events and queues, and what an outsider can do to it."""

    async def connect(self) -> Bus:
        """A connection as one replica's."""
        ...

    async def store_bytes(self, subject: str, data: bytes) -> int:
        """Put bytes onto a job's subject, whatever they are."""
        ...

    async def put_command_bytes(self, subject: str, data: bytes) -> int: ...

    async def remember(self) -> None:
        """Keep a copy of the store as it is now."""
        ...

    async def go_back(self) -> None:
        """Restore the copy: everything later is lost."""
        ...


class MemoryWorld:
    def __init__(self) -> None:
        self._bus = MemoryBus(shards=LAYOUT.shards, lease_s=LAYOUT.lease_s, wait_s=0.5)
        self._kept = 0

    async def connect(self) -> Bus:
        return self._bus.connect()

    async def store_bytes(self, subject: str, data: bytes) -> int:
        return await self._bus.history.store_bytes(subject, data)

    async def put_command_bytes(self, subject: str, data: bytes) -> int:
        return await self._bus.commands.publish_bytes(subject, data)

    async def remember(self) -> None:
        self._kept = len([stored async for stored in self._bus.history.stored()])

    async def go_back(self) -> None:
        self._bus.history.go_back_to(self._kept)


class Restartable(Protocol):
    """A server whose store can be copied while it is down."""

    directory: Path

    @property
    def url(self) -> str: ...

    async def start(self) -> None: ...

    def stop(self) -> None: ...


class JetStreamWorld:
    """A real server of one node."""

    def __init__(self, node: Restartable) -> None:
        self.node = node
        self.buses: list[JetStreamBus] = []

    @property
    def settings(self) -> BusSettings:
        return BusSettings(urls=(self.node.url,), receive_wait_s=0.5)

    async def prepare(self) -> None:
        wire = Wire(self.settings)
        await wire.connect()
        await setup(wire, LAYOUT)
        await wire.close()

    async def connect(self) -> Bus:
        bus = await connect(self.settings)
        self.buses.append(bus)
        return bus

    async def store_bytes(self, subject: str, data: bytes) -> int:
        return await self._publish(subject, data, stream=history_stream(1))

    async def put_command_bytes(self, subject: str, data: bytes) -> int:
        return await self._publish(subject, data, stream=COMMANDS)

    async def remember(self) -> None:
        self.node.stop()
        shutil.copytree(self.node.directory / "store", self.node.directory / "copy")
        await self.node.start()

    async def go_back(self) -> None:
        self.node.stop()
        shutil.rmtree(self.node.directory / "store")
        (self.node.directory / "copy").rename(self.node.directory / "store")
        await self.node.start()

    async def close(self) -> None:
        for bus in self.buses:
            await bus.close()

    async def _publish(self, subject: str, data: bytes, *, stream: str) -> int:
        wire = Wire(self.settings)
        await wire.connect()
        answer = answer_of(await wire.ask(subject, data, headers={"Nats-Expected-Stream": stream}))
        await wire.close()
        return int(answer["seq"])


def an_event(number: int, *, job: str = "llama", tenant: str = "nlp", expected: int = 0) -> Envelope:
    """The `number`-th event of a test: a decision that says so."""
    return Envelope(
        id=event_id(AT, number.to_bytes(10, "big")),
        tenant=tenant,
        job=job,
        expected=expected,
        at=AT,
        by="replica:sv-a",
        reason=Reason.PERSON_RELEASE,
        event=HoldLifted(instances=(f"h-{number}",)),
    )


def a_cancel(name: str, *, job: str = "llama", tenant: str = "nlp") -> CancelJob:
    return CancelJob(command=name, tenant=tenant, job=job, at=AT)


def a_receipt(command: str, progress: Progress) -> Receipt:
    return Receipt(
        command=command,
        tenant="nlp",
        job="llama",
        verb="cancel",
        answer=Answer.ACCEPTED,
        progress=progress,
        at=AT,
        by="replica:sv-a",
    )


def numbers(items: list[object]) -> list[str]:
    """What events say, `Caught` left out."""
    return [
        item.content.event.instances[0]  # type: ignore[attr-defined]
        for item in items
        if not isinstance(item, Caught)
    ]


async def write(bus: Bus, count: int, *, job: str = "llama", tenant: str = "nlp", first: int = 1) -> list[int]:
    """Append `count` events to a job, each after the other; their revisions."""
    revisions = [entry.revision for entry in await bus.history.read(tenant, job)]
    for number in range(first, first + count):
        expected = revisions[-1] if revisions else 0
        revisions.append(await bus.history.append(an_event(number, job=job, tenant=tenant, expected=expected)))
    return revisions[-count:]


async def take_until(items: AsyncIterator[_T], enough: Callable[[list[_T]], bool]) -> list[_T]:
    """Items until `enough` of them came; AssertionError when they do not come in time."""
    taken: list[_T] = []
    try:
        async with asyncio.timeout(WITHIN_S):
            async for item in items:
                taken.append(item)
                if enough(taken):
                    return taken
    except TimeoutError:
        raise AssertionError(f"after {WITHIN_S:g}s only {taken[-5:]}") from None
    return taken


async def until(
    check: Callable[[], Coroutine[object, object, _T]], wanted: Callable[[_T], bool], *, within_s: float = WITHIN_S
) -> _T:
    """What `check` says once it is what is wanted."""
    async with asyncio.timeout(within_s):
        said = await check()
        while not wanted(said):
            await asyncio.sleep(0.02)  # waits: the condition is asked of a server
            said = await check()
    return said


def shard_of(job: str, *, tenant: str = "nlp") -> int:
    return subjects.shard_of(tenant, job, LAYOUT.shards)


def command_subject(command: CancelJob, actor: str = "ana") -> str:
    return subjects.command(command.tenant, actor, codec.verb_of(command), command.job)
