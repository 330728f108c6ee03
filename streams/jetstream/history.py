"""`streams.ports.History` on JetStream: the entries of every job, read through the codec."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from streams import codec, subjects
from streams.jetstream.append import Append
from streams.jetstream.follow import Follower
from streams.jetstream.read import last_revision, pages
from streams.jetstream.wire import Wire
from streams.messages.events import Entry, Envelope
from streams.ports import Caught, Stored


class JetStreamHistory:
    """One generation of the history. `replicated`: kept by more than one server."""

    def __init__(self, wire: Wire, stream: str, *, replicated: bool) -> None:
        self._wire = wire
        self._stream = stream
        self._replicated = replicated

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        subject = subjects.job(tenant, job)
        return tuple(
            [_entry(stored) async for page in pages(self._wire, self._stream, subject, after=after) for stored in page]
        )

    async def last_revision(self, tenant: str, job: str) -> int:
        return await last_revision(self._wire, self._stream, subjects.job(tenant, job))

    async def append(self, envelope: Envelope) -> int:
        return await Append(self._wire, self._stream, envelope, replicated=self._replicated).run()

    async def follow(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Entry | Caught]:
        follower = Follower(self._wire, self._stream, subjects.jobs(tenant), after=after)
        async with aclosing(follower.run()) as arriving:
            async for page in arriving:
                for item in page:
                    yield _entry(item) if isinstance(item, Stored) else item

    async def stored(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Stored]:
        async for page in pages(self._wire, self._stream, subjects.jobs(tenant), after=after):
            for stored in page:
                yield stored


def _entry(stored: Stored) -> Entry:
    return codec.decode_event(stored.subject, stored.data, revision=stored.revision, stored_at=stored.stored_at)
