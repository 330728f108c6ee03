"""Receipts, status and heartbeats on JetStream, over plain messages: nats-py's key-value client misreads expiry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from streams import codec, subjects
from streams.errors import CodecError, ConflictError, UndecidedError
from streams.jetstream.append import condition, kept_by, last_sequence
from streams.jetstream.layout import RECEIPTS, REPLICAS, REPLICAS_KEYS, status_keys, status_stream
from streams.jetstream.publish import PAUSE_S, WRITE_IN_FLIGHT, WRONG_LAST_SEQUENCE, put, refused
from streams.jetstream.read import last_of, newest_of, pages
from streams.jetstream.wire import ApiError, NoAnswerError, Wire, answer_of
from streams.messages.receipts import Receipt, supersedes
from streams.ports import StatusEntry, Stored

TTL_S_MIN = 1.0
SILENT_FOR_S = 3600.0
RECEIPT_TRIES_MAX = 20


class JetStreamBuckets:
    """`streams.ports.Buckets` on JetStream. The status bucket belongs to one generation of the history."""

    def __init__(self, wire: Wire, generation: int) -> None:
        self._wire = wire
        self._status = status_stream(generation)
        self._keys = status_keys(generation)

    async def put_receipt(self, receipt: Receipt) -> None:
        """Most are the first of their command, so what is there is read only after a refused condition."""
        subject, data = subjects.receipt(receipt.tenant, receipt.command), codec.encode_receipt(receipt)
        expected = 0
        for tried in range(RECEIPT_TRIES_MAX):
            await asyncio.sleep(PAUSE_S if tried > 1 else 0)  # others write it too
            try:
                await put(self._wire, subject, data, what="a receipt", headers=condition(RECEIPTS, expected))
            except ConflictError:
                held = await newest_of(self._wire, RECEIPTS, subject)
                if held is not None and (held.data == data or not _may_replace(receipt, held)):
                    return
                expected = 0 if held is None else held.revision
            else:
                return
        raise UndecidedError(subject, "a receipt")

    async def get_receipt(self, tenant: str, command: str) -> Receipt | None:
        stored = await last_of(self._wire, RECEIPTS, subjects.receipt(tenant, command))
        if stored is None:
            return None
        return _receipt_in(stored)

    async def put_status(self, key: str, data: bytes, *, expected: int | None) -> int:
        subject = f"{self._keys}.{subjects.check_key(key)}"
        try:
            message = await self._wire.ask(subject, data, headers=condition(self._status, expected or 0))
            return int(answer_of(message)["seq"])
        except NoAnswerError as error:
            raise UndecidedError(subject, "a status") from error
        except ApiError as error:
            if error.err_code in {WRONG_LAST_SEQUENCE, WRITE_IN_FLIGHT}:
                raise ConflictError(key, expected or 0, last_sequence(error)) from error
            raise refused(subject, error) from error

    async def get_status(self, key: str) -> StatusEntry | None:
        stored = await last_of(self._wire, self._status, f"{self._keys}.{subjects.check_key(key)}")
        return None if stored is None else self._entry(stored)

    async def list_status(self, *, tenant: str | None = None) -> AsyncIterator[StatusEntry]:
        """A key that is written meanwhile moves to the end of the stream: it is met once or twice, never missed."""
        among = f"{self._keys}.>" if tenant is None else f"{self._keys}.{subjects.check_token(tenant, 'tenant')}.>"
        met: set[str] = set()
        async for page in pages(self._wire, self._status, among):
            for entry in map(self._entry, page):
                if entry.key not in met:
                    met.add(entry.key)
                    yield entry

    async def beat(self, replica: str, data: bytes, *, ttl_s: float) -> None:
        """Two keys: one that ends with the replica, and one that outlives it, so that it is missed."""
        await self._beat(_live(replica), data, ttl_s=ttl_s)
        await self._beat(_last(replica), data, ttl_s=ttl_s + SILENT_FOR_S)

    async def leave(self, replica: str) -> None:
        await self._beat(_last(replica), b"", ttl_s=TTL_S_MIN)
        await self._beat(_live(replica), b"", ttl_s=TTL_S_MIN)

    async def replicas(self) -> dict[str, bytes]:
        return await self._beats(f"{REPLICAS_KEYS}.*")

    async def silent_replicas(self) -> dict[str, bytes]:
        """In this order: one that comes writes `live` first, and one that leaves takes back `last` first."""
        last = await self._beats(_last("*"))
        live = await self.replicas()
        silent = {name: data for name, data in last.items() if name not in live}
        if not silent:
            return silent
        still = await self._beats(_last("*"))  # one that left between the two reads is not dead
        return {name: data for name, data in silent.items() if still.get(name) == data}

    async def _beat(self, subject: str, data: bytes, *, ttl_s: float) -> None:
        headers = {"Nats-TTL": f"{round(max(ttl_s, TTL_S_MIN) * 1000)}ms", **kept_by(REPLICAS)}
        await put(self._wire, subject, data, what="a heartbeat", headers=headers)

    async def _beats(self, among: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        async for page in pages(self._wire, REPLICAS, among):
            found |= {stored.subject.rpartition(".")[2]: stored.data for stored in page if stored.data}
        return found

    def _entry(self, stored: Stored) -> StatusEntry:
        key = stored.subject.removeprefix(f"{self._keys}.")
        return StatusEntry(key=key, revision=stored.revision, data=stored.data)


def _receipt_in(stored: Stored) -> Receipt | None:
    try:
        return codec.decode_receipt(stored.data)
    except CodecError:
        return None


def _may_replace(receipt: Receipt, stored: Stored) -> bool:
    held = _receipt_in(stored)
    return held is None or supersedes(receipt, held)


def _live(replica: str) -> str:
    return f"{REPLICAS_KEYS}.{subjects.check_token(replica, 'replica')}"


def _last(replica: str) -> str:
    return f"{REPLICAS_KEYS}.last.{replica if replica == '*' else subjects.check_token(replica, 'replica')}"
