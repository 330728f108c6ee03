"""Following the history: one ordered consumer of our own, made anew from the last revision whenever in doubt.

In doubt means: a delivery number is missing, two heartbeats are, or the connection was lost. A gap is impossible
then, a repetition too, since each message is placed by its revision. Where the credentials may not make a consumer,
batches of direct gets take its place: the same order, some delay.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import nats.errors

from streams.errors import BusUnreachableError, NotPermittedError, RegressionError, StreamError, WrongStreamError
from streams.jetstream.connection import Heard
from streams.jetstream.layout import NANOSECONDS
from streams.jetstream.read import pages
from streams.jetstream.wire import ApiError, NoAnswerError, Wire, delivery_of, status_of
from streams.ports import Caught, Stored

HEARTBEAT_S = 1.0
SILENCE_S = 2.5
POLL_S = 0.5
CHECK_EVERY_S = 30.0
CONSUMER_KEPT_S = 30

_PAUSE_S = 0.5
_STREAM_NOT_FOUND = 10059
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Page = list[Stored | Caught]


class Follower:
    """Every message of `subject` above `after`, in order, for ever; as many at once as have arrived."""

    def __init__(self, wire: Wire, stream: str, subject: str, *, after: int) -> None:
        self._wire = wire
        self._stream = stream
        self._subject = subject
        self._last = after
        self._checked_at = 0.0
        self._short_since: float | None = None

    async def run(self) -> AsyncGenerator[Page]:
        """Raises RegressionError, WrongStreamError, NotPermittedError, or BusClosedError once the connection is closed."""
        by_consumer = True
        while not self._wire.closed:
            try:
                await self._check()
                async with aclosing(self._consume() if by_consumer else self._poll()) as source:
                    async for page in source:
                        self._last = page[-1].revision
                        yield page
            except NotPermittedError:
                if not by_consumer:
                    raise
                by_consumer = False
            except (BusUnreachableError, NoAnswerError) as error:
                if by_consumer and await self._is_not_imported(error):
                    by_consumer = False
                await asyncio.sleep(_PAUSE_S)
        raise self._wire.closed_error()

    async def _is_not_imported(self, error: StreamError) -> bool:
        """Nobody listens to consumer requests, yet the stream answers: another account's rights end there."""
        if not (isinstance(error, BusUnreachableError) and "CONSUMER.CREATE" in str(error)):
            return False
        try:
            await self._wire.api(f"STREAM.INFO.{self._stream}")
        except (BusUnreachableError, NoAnswerError, ApiError):
            return False
        return True

    async def _check(self) -> None:
        """That the stream is still the current history and not shorter than what was read from it."""
        try:
            info = await self._wire.api(f"STREAM.INFO.{self._stream}")
        except ApiError as error:
            if error.err_code == _STREAM_NOT_FOUND:
                raise WrongStreamError(f"{self._stream} is gone") from error
            raise NoAnswerError(str(error)) from error
        if self._subject.split(".")[1] not in {listened.split(".")[1] for listened in info["config"]["subjects"]}:
            raise WrongStreamError(f"{self._stream} is no longer the current history")
        self._judge_length(int(info["state"]["last_seq"]), replicated=info["config"]["num_replicas"] > 1)
        self._checked_at = time.monotonic()

    def _judge_length(self, end: int, *, replicated: bool) -> None:
        if end >= self._last:
            self._short_since = None
            return
        now = time.monotonic()
        self._short_since = self._short_since if self._short_since is not None else now
        if not replicated or now - self._short_since >= self._wire.settings.regression_after_s:
            raise RegressionError(self._subject, self._last, end)
        raise NoAnswerError(f"{self._stream} ends at r{end}, before r{self._last}")

    async def _poll(self) -> AsyncGenerator[Page]:
        while True:
            async for page in pages(self._wire, self._stream, self._subject, after=self._last):
                yield [*page]
            yield [Caught(revision=self._last)]
            await asyncio.sleep(POLL_S)
            await self._check_at_times()

    async def _consume(self) -> AsyncGenerator[Page]:
        """Messages of one consumer, until in doubt: then what was not given on yet is read again."""
        arrived: asyncio.Queue[Heard] = asyncio.Queue()
        inbox = self._wire.client.new_inbox()
        delivery = 0
        async with self._wire.listening(inbox, arrived.put_nowait):
            page: Page = [Caught(revision=self._last)] if await self._create(inbox) == 0 else []
            while True:
                if page and arrived.empty():
                    yield page
                    page = []
                message = await self._next(arrived)
                if message is None:
                    return
                if status_of(message, inbox) == "100":
                    if not await self._heard(message, delivery):
                        return
                    continue
                stored, number, waiting = _delivered(message)
                if number != delivery + 1:
                    return
                delivery = number
                page.append(stored)
                if waiting == 0:
                    page.append(Caught(revision=stored.revision))

    async def _next(self, arrived: asyncio.Queue[Heard]) -> Heard | None:
        """The next message, or None when two heartbeats are missing or the connection is."""
        if not arrived.empty():
            return arrived.get_nowait()  # most of a replay: no timer a message
        try:
            async with asyncio.timeout(SILENCE_S):
                return await arrived.get()
        except TimeoutError:
            return None

    async def _heard(self, message: Heard, delivery: int) -> bool:
        """Answer flow control, and say whether a heartbeat agrees with what was delivered."""
        headers = message.headers or {}
        stalled = headers.get("Nats-Consumer-Stalled")
        if message.reply or stalled:
            try:
                await self._wire.client.publish(message.reply or stalled or "")
            except (nats.errors.Error, OSError):
                return False
        await self._check_at_times()
        last = headers.get("Nats-Last-Consumer")
        return last is None or int(last) == delivery

    async def _check_at_times(self) -> None:
        if time.monotonic() - self._checked_at > CHECK_EVERY_S:
            await self._check()

    async def _create(self, inbox: str) -> int:
        """Make the consumer; how many messages wait for it."""
        name = inbox.rpartition(".")[2]
        config = {
            "name": name,
            "deliver_subject": inbox,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self._last + 1,
            "ack_policy": "none",
            "max_deliver": 1,
            "replay_policy": "instant",
            "filter_subject": self._subject,
            "flow_control": True,
            "idle_heartbeat": int(HEARTBEAT_S * NANOSECONDS),
            "inactive_threshold": CONSUMER_KEPT_S * NANOSECONDS,
            "num_replicas": 1,
            "mem_storage": True,
        }
        request = {"stream_name": self._stream, "config": config, "action": "create"}
        try:
            made = await self._wire.api(f"CONSUMER.CREATE.{self._stream}.{name}.{self._subject}", request)
        except ApiError as error:
            raise NoAnswerError(str(error)) from error
        return int(made["num_pending"])


def _delivered(message: Heard) -> tuple[Stored, int, int]:
    """A message of a consumer, its delivery number, and how many wait behind it."""
    revision, delivery, nanoseconds, waiting = delivery_of(message.reply)
    stored_at = _UNIX_EPOCH + timedelta(microseconds=nanoseconds // 1000)
    stored = Stored(subject=message.subject, data=message.data, revision=revision, stored_at=stored_at)
    return stored, delivery, waiting
