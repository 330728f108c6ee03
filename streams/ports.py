"""What the rest of dispatch needs of a bus: history, queues, buckets. Two implementations, one suite.

Every method may raise `BusUnreachableError` or `NotPermittedError`; the others are named where they apply.
No read here is linearizable; only an accepted append proves that a read was fresh.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol

import msgspec

from streams.messages.commands import Command
from streams.messages.events import Entry, Envelope
from streams.messages.receipts import Receipt
from streams.messages.values import Instant


class History(Protocol):
    """The events of every job, one exact subject each."""

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        """The job's entries with a revision above `after`, oldest first, in one batched read.

        `job` may be `_controls`. A stale answer is possible, a gap or a reordering is not.
        """
        ...

    async def last_revision(self, tenant: str, job: str) -> int:
        """The revision of the job's last entry as the store's leader has it, 0 without any.

        A read that ends below it is stale. One that ends there may be stale too, but not by a lagging copy.
        """
        ...

    async def append(self, envelope: Envelope) -> int:
        """Store the event if the subject's last revision is `envelope.expected`; its new revision.

        An own event that was stored and not acknowledged is recognised by its id and its revision returned.
        Raises ConflictError, RegressionError, UndecidedError, WrongStreamError, StreamFullError. Cancellation
        means undecided.
        """
        ...

    def follow(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Entry | Caught]:
        """Every entry above `after` in order, for ever; a `Caught` each time the end was reached.

        Survives restarts of the bus without a gap or a repetition. Raises RegressionError when the history ends
        below `after`, WrongStreamError when another generation took its place.
        """
        ...

    def stored(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Stored]:
        """The bytes of every message above `after`, oldest first, up to the present end: what an export keeps."""
        ...


class Caught(msgspec.Struct, frozen=True, kw_only=True):
    """The follower has seen everything that was stored when it asked; the last is `revision`."""

    revision: int


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """One message as it lies on the bus, not judged by the codec."""

    subject: str
    data: bytes
    revision: int
    stored_at: Instant


class Delivery(Protocol):
    """One message in hand. Unacknowledged it comes back, to this replica or another."""

    @property
    def subject(self) -> str: ...

    @property
    def data(self) -> bytes: ...

    @property
    def sequence(self) -> int: ...

    async def ack(self) -> None:
        """Done with it. Raises UndecidedError if the server did not confirm."""
        ...

    async def in_progress(self) -> None:
        """Keep it in hand for another lease. Raises UndecidedError if the server did not confirm."""
        ...


class WakeDelivery(Protocol):
    """One wake-up in hand: never evidence, only a reason to look (L13)."""

    @property
    def tenant(self) -> str: ...

    @property
    def job(self) -> str: ...

    async def ack(self) -> None: ...

    async def in_progress(self) -> None: ...


class Commands(Protocol):
    """What services publish; a work queue partitioned by job, one in flight per shard."""

    async def publish(self, command: Command, *, actor: str) -> int:
        """Put it on the bus; its stream sequence. Raises UndecidedError when no answer came."""
        ...

    async def receive(self, shard: int, *, rank: int) -> Delivery | None:
        """The next command of this shard, or None when a while passed without one.

        `rank` (0 to 9, 0 first) is this replica's place for the shard: a lower one is served first.
        """
        ...

    async def waiting(self) -> int:
        """How many commands are stored and not acknowledged."""
        ...


class WakeUps(Protocol):
    """Reasons to look at a job; coalesced to one a job, partitioned like commands."""

    async def wake(self, tenant: str, job: str) -> None: ...

    async def receive(self, shard: int, *, rank: int) -> WakeDelivery | None: ...

    async def wake_at(self, tenant: str, job: str, due_at: datetime) -> None:
        """Set the job's one timer, replacing the earlier one; never early, may be late or twice."""
        ...


class StatusEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the status bucket. `data` is the fleet projection's own JSON."""

    key: str
    revision: int
    data: bytes


class Buckets(Protocol):
    """Projections kept on the bus for people: never read for a decision."""

    async def put_receipt(self, receipt: Receipt) -> None:
        """Write it, unless what is there says more (`supersedes`). Raises UndecidedError if nobody can say."""
        ...

    async def get_receipt(self, tenant: str, command: str) -> Receipt | None: ...

    async def put_status(self, key: str, data: bytes, *, expected: int | None) -> int:
        """Write a key if its revision is `expected` (None: must be absent). Raises ConflictError."""
        ...

    async def get_status(self, key: str) -> StatusEntry | None: ...

    def list_status(self, *, tenant: str | None = None) -> AsyncIterator[StatusEntry]:
        """Every key once, in one read."""
        ...

    async def beat(self, replica: str, data: bytes, *, ttl_s: float) -> None:
        """Say that this replica lives. It counts as live for `ttl_s` after the last beat, and as silent for an hour."""
        ...

    async def leave(self, replica: str) -> None:
        """Say that this replica has ended as it should: neither live nor silent any more."""
        ...

    async def replicas(self) -> dict[str, bytes]:
        """The live replicas' last beats, by name."""
        ...

    async def silent_replicas(self) -> dict[str, bytes]:
        """The last beats, by name, of replicas that stopped within the last hour without having left."""
        ...


class Bus(Protocol):
    """The four ports of one connection, and what closing it does.

    `shards` and `lease_s` (how long a message stays in hand unacknowledged) are the bus's own: every replica
    reads the same. `generation` counts the histories that were restored (L14).
    """

    @property
    def history(self) -> History: ...

    @property
    def commands(self) -> Commands: ...

    @property
    def wakeups(self) -> WakeUps: ...

    @property
    def buckets(self) -> Buckets: ...

    @property
    def shards(self) -> int: ...

    @property
    def lease_s(self) -> float: ...

    @property
    def generation(self) -> int: ...

    @property
    def reconnects(self) -> int:
        """How often the connection came back: each time the store may have been replaced by an older copy (L14)."""
        ...

    async def close(self) -> None:
        """Let what is in hand finish, then disconnect."""
        ...
