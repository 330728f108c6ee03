"""Receipts, status and heartbeats in memory."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator

from streams import codec, subjects
from streams.errors import ConflictError
from streams.messages.receipts import Receipt, supersedes
from streams.ports import StatusEntry

SILENT_FOR_S = 3600.0


class MemoryBuckets:
    """`streams.ports.Buckets` over dictionaries."""

    def __init__(self) -> None:
        self._receipts: dict[str, bytes] = {}
        self._status: dict[str, StatusEntry] = {}
        self._beats: dict[str, tuple[float, bytes]] = {}
        self._revisions = itertools.count(1)

    async def put_receipt(self, receipt: Receipt) -> None:
        held = await self.get_receipt(receipt.tenant, receipt.command)
        if held is None or supersedes(receipt, held):
            self._receipts[subjects.receipt(receipt.tenant, receipt.command)] = codec.encode_receipt(receipt)

    async def get_receipt(self, tenant: str, command: str) -> Receipt | None:
        data = self._receipts.get(subjects.receipt(tenant, command))
        return None if data is None else codec.decode_receipt(data)

    async def put_status(self, key: str, data: bytes, *, expected: int | None) -> int:
        subjects.check_key(key)
        held = self._status.get(key)
        current = None if held is None else held.revision
        if current != expected:
            raise ConflictError(key, expected or 0, current)
        revision = next(self._revisions)
        self._status[key] = StatusEntry(key=key, revision=revision, data=data)
        return revision

    async def get_status(self, key: str) -> StatusEntry | None:
        return self._status.get(subjects.check_key(key))

    async def list_status(self, *, tenant: str | None = None) -> AsyncIterator[StatusEntry]:
        for entry in tuple(self._status.values()):
            if tenant is None or entry.key.startswith(f"{tenant}."):
                yield entry

    async def beat(self, replica: str, data: bytes, *, ttl_s: float) -> None:
        self._beats[subjects.check_token(replica, "replica")] = (time.monotonic() + ttl_s, data)

    async def leave(self, replica: str) -> None:
        self._beats.pop(replica, None)

    async def replicas(self) -> dict[str, bytes]:
        return {name: data for name, (until, data) in self._beats.items() if until > time.monotonic()}

    async def silent_replicas(self) -> dict[str, bytes]:
        now = time.monotonic()
        return {name: data for name, (until, data) in self._beats.items() if until <= now < until + SILENT_FOR_S}
