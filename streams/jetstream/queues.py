"""Work queues on JetStream: one durable consumer a shard, one message in hand, the lowest rank served first.

nats-py 2.16 knows no priority groups, so pulls are plain API requests. A message that is not acknowledged comes
back after the bus's lease, to whoever then asks; exclusiveness is never promised, only likely.
"""

from __future__ import annotations

import asyncio
import functools
import json
from datetime import UTC, datetime

from streams import codec, subjects
from streams.errors import BusUnreachableError, SettingsError, UndecidedError
from streams.jetstream.connection import Heard
from streams.jetstream.layout import COMMANDS, NANOSECONDS, PRIORITY_GROUP, WAKE, consumer_name
from streams.jetstream.publish import put
from streams.jetstream.wire import ApiError, NoAnswerError, Wire, delivery_of, status_of
from streams.messages.commands import Command

RANK_MAX = 9
DUE_KEPT = "60s"
ACK_TRIES = 3

_HEARTBEAT_S = 0.7
_ACK = b"+ACK"
_IN_PROGRESS = b"+WPI"
_HEARTBEAT = "100"
_PULL_OVER = frozenset({"404", "408", "409"})


class JetStreamDelivery:
    """One message in hand; it satisfies both `Delivery` and `WakeDelivery`."""

    def __init__(self, wire: Wire, message: Heard) -> None:
        self._wire = wire
        self._reply = message.reply
        self.subject = subjects.out_of_shard(message.subject)
        self.data = message.data
        self.sequence = delivery_of(message.reply)[0]

    @property
    def tenant(self) -> str:
        return self.subject.split(".")[2]

    @property
    def job(self) -> str:
        return self.subject.split(".")[-1]

    async def ack(self) -> None:
        await self._confirm(_ACK)

    async def in_progress(self) -> None:
        await self._confirm(_IN_PROGRESS)

    async def _confirm(self, word: bytes) -> None:
        """Both words may be said again, so a lost answer is asked for again before it counts as undecided."""
        for _ in range(ACK_TRIES):
            try:
                await self._wire.ask(self._reply, word)
                return
            except (NoAnswerError, BusUnreachableError):
                await asyncio.sleep(0.05)
        raise UndecidedError(self.subject, f"{word.decode()} of message {self.sequence}")


class Shards:
    """The pulls of one work queue."""

    def __init__(self, wire: Wire, stream: str) -> None:
        self._wire = wire
        self._stream = stream

    async def receive(self, shard: int, rank: int) -> JetStreamDelivery | None:
        """The next message of the shard, or None when `receive_wait_s` passed or the server went away."""
        wait_s = self._wire.settings.receive_wait_s
        pull = {
            "batch": 1,
            "expires": int(wait_s * NANOSECONDS),
            "idle_heartbeat": int(min(_HEARTBEAT_S, wait_s / 2.5) * NANOSECONDS),
            "group": PRIORITY_GROUP,
            "priority": max(0, min(RANK_MAX, rank)),
        }
        async with self._wire.deliveries() as replies:
            subject = self._wire.method(f"CONSUMER.MSG.NEXT.{self._stream}.{consumer_name(shard)}")
            await self._wire.send(subject, json.dumps(pull).encode(), replies=replies)
            while True:
                try:
                    message = await replies.next(3 * _HEARTBEAT_S)
                except NoAnswerError:
                    return None
                status = status_of(message, replies.inbox)
                if not status:
                    return JetStreamDelivery(self._wire, message)
                if status in _PULL_OVER:
                    return None
                if status != _HEARTBEAT:
                    description = (message.headers or {}).get("Description", "")
                    raise SettingsError((f"shard {shard} of {self._stream}: {status} {description}",))


class JetStreamCommands:
    """`streams.ports.Commands` on JetStream."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._shards = Shards(wire, COMMANDS)

    async def publish(self, command: Command, *, actor: str) -> int:
        subject = subjects.command(command.tenant, actor, codec.verb_of(command), command.job)
        return await put(self._wire, subject, codec.encode_command(command), what=command.command)

    async def receive(self, shard: int, *, rank: int) -> JetStreamDelivery | None:
        return await self._shards.receive(shard, rank)

    async def waiting(self) -> int:
        info = functools.partial(self._wire.api, f"STREAM.INFO.{COMMANDS}")
        try:
            answer = await self._wire.patiently(info, within_s=self._wire.settings.read_within_s)
        except ApiError as error:
            raise SettingsError((f"{COMMANDS}: {error}",)) from error
        return int(answer["state"]["messages"])


class JetStreamWakeUps:
    """`streams.ports.WakeUps` on JetStream; timers are message schedules of the server."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._shards = Shards(wire, WAKE)

    async def wake(self, tenant: str, job: str) -> None:
        await put(self._wire, subjects.wake(tenant, job), b"", what="a wake-up")

    async def receive(self, shard: int, *, rank: int) -> JetStreamDelivery | None:
        return await self._shards.receive(shard, rank)

    async def wake_at(self, tenant: str, job: str, due_at: datetime) -> None:
        headers = {
            "Nats-Schedule": f"@at {due_at.astimezone(UTC).isoformat(timespec='microseconds').replace('+00:00', 'Z')}",
            "Nats-Schedule-Target": subjects.due_timer(tenant, job),
            "Nats-Schedule-TTL": DUE_KEPT,
        }
        await put(self._wire, subjects.timer(tenant, job), b"", what="a timer", headers=headers)
