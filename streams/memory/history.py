"""Histories in memory: one list of bytes, whose places are the revisions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from streams import codec, subjects
from streams.errors import ConflictError, RegressionError
from streams.messages.events import Entry, Envelope
from streams.ports import Caught, Stored


class MemoryHistory:
    """`streams.ports.History` over a list."""

    def __init__(self) -> None:
        self._stored: list[Stored] = []
        self._appended = asyncio.Condition()

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        subject = subjects.job(tenant, job)
        return tuple(_entry(stored) for stored in self._stored[after:] if stored.subject == subject)

    async def last_revision(self, tenant: str, job: str) -> int:
        subject = subjects.job(tenant, job)
        return next((stored.revision for stored in reversed(self._stored) if stored.subject == subject), 0)

    async def append(self, envelope: Envelope) -> int:
        subject = subjects.job(envelope.tenant, envelope.job)
        data = codec.encode_event(envelope)
        own = [stored for stored in self._stored if stored.subject == subject]
        current = own[-1].revision if own else 0
        if current == envelope.expected:
            return await self.store_bytes(subject, data)
        if current < envelope.expected:
            raise RegressionError(subject, envelope.expected, current)
        first = _entry(next(stored for stored in own if stored.revision > envelope.expected))
        if isinstance(first.content, Envelope) and first.content.id == envelope.id:
            return first.revision
        raise ConflictError(subject, envelope.expected, current)

    async def follow(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Entry | Caught]:
        if after > len(self._stored):
            raise RegressionError(subjects.jobs(tenant), after, len(self._stored))
        seen = after
        while True:
            end = len(self._stored)
            for stored in self._stored[seen:end]:
                if subjects.of_tenant(stored.subject, tenant):
                    yield _entry(stored)
            seen = end
            yield Caught(revision=seen)
            async with self._appended:
                while len(self._stored) <= seen:
                    await self._appended.wait()

    async def stored(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Stored]:
        for stored in self._stored[after:]:
            if subjects.of_tenant(stored.subject, tenant):
                yield stored

    async def store_bytes(self, subject: str, data: bytes) -> int:
        """Store bytes as they are, unchecked and unconditionally, as another client of the server could."""
        revision = len(self._stored) + 1
        self._stored.append(Stored(subject=subject, data=data, revision=revision, stored_at=datetime.now(UTC)))
        async with self._appended:
            self._appended.notify_all()
        return revision

    def go_back_to(self, revision: int) -> None:
        """Forget everything above `revision`, as a restore from an older copy would (L14)."""
        del self._stored[revision:]


def _entry(stored: Stored) -> Entry:
    return codec.decode_event(stored.subject, stored.data, revision=stored.revision, stored_at=stored.stored_at)
