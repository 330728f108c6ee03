"""One connection to the servers, and the plain truth about each request made on it.

nats-py's own requests wait out their time when the connection drops, and see a missing permission as a time-out.
Here every reply comes to one inbox of ours, so both are told at once:

    BusUnreachableError  nothing was sent, or nobody listens: certainly not done
    NoAnswerError        sent, and no answer: it may have been done
    NotPermittedError    the server said so
    TooLargeError        the message is larger than a server takes: nothing was sent
    ApiError             the server answered with an error of its JetStream API
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import nats
import nats.errors

from streams.addresses import shown, without_secrets
from streams.errors import BusClosedError, BusUnreachableError, NotPermittedError, StreamError, TooLargeError
from streams.jetstream.connection import Connection, Heard
from streams.jetstream.layout import OWN_API
from streams.jetstream.settings import BusSettings, credentials

_VIOLATION = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]+)\"")
_NOT_SENT = (nats.errors.OutboundBufferLimitError, nats.errors.ConnectionDrainingError)
_LOST = (nats.errors.ConnectionClosedError, OSError)
_Answer = TypeVar("_Answer")


class NoAnswerError(StreamError):
    """The request was sent, or may have been, and no answer came."""


class ApiError(StreamError):
    """An error answer of JetStream: `err_code` is its own number, `code` HTTP's."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{description} ({code}/{err_code})")
        self.code = code
        self.err_code = err_code
        self.description = description


class Replies:
    """Where the answers to one request arrive; more than one for a batch."""

    def __init__(self, inbox: str) -> None:
        self.inbox = inbox
        self.subject = ""
        self._arrived: asyncio.Queue[Heard | StreamError] = asyncio.Queue()

    def put(self, arrived: Heard | StreamError) -> None:
        self._arrived.put_nowait(arrived)

    async def next(self, within_s: float) -> Heard:
        """The next answer. Raises NoAnswerError, NotPermittedError, or BusUnreachableError if nobody listens."""
        try:
            async with asyncio.timeout(within_s):
                arrived = await self._arrived.get()
        except TimeoutError as error:
            raise NoAnswerError(f"{self.subject} gave no answer in {within_s:g}s") from error
        if isinstance(arrived, StreamError):
            raise arrived
        if status_of(arrived, self.inbox) == "503":
            raise BusUnreachableError(f"nobody listens on {self.subject}")
        return arrived


class Wire:
    """A connection that comes back by itself until it is closed."""

    def __init__(self, settings: BusSettings) -> None:
        self.settings = settings
        self.client = Connection(tls_only=settings.tls_only)
        self.api_prefix = settings.api_prefix or OWN_API
        self._inbox = ""
        self._tokens = itertools.count()
        self._open: dict[str, Replies] = {}
        self._last_error = "no server answered"
        self._refused = asyncio.Event()

    async def connect(self) -> None:
        """Raises NotPermittedError, BusUnreachableError after `connect_within_s`, SettingsError for unreadable files."""
        connecting = asyncio.create_task(self._connect(credentials(self.settings)))
        refused = asyncio.create_task(self._refused.wait())
        try:
            await asyncio.wait(
                {connecting, refused}, timeout=self.settings.connect_within_s, return_when=asyncio.FIRST_COMPLETED
            )
            if connecting.done():
                await connecting
                return
        except (nats.errors.Error, OSError) as error:
            self._last_error = without_secrets(str(error))
        finally:
            refused.cancel()
            if not connecting.done() or connecting.cancelled() or connecting.exception() is not None:
                connecting.cancel()
                await self.client.close()
        raise self._connect_error()

    async def _connect(self, options: dict[str, Any]) -> None:
        settings = self.settings
        await self.client.connect(
            servers=list(settings.urls),
            name=settings.name,
            inbox_prefix=settings.inbox_prefix,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,  # type: ignore[arg-type]  # a float in every use of it
            connect_timeout=2,
            ping_interval=5,
            max_outstanding_pings=2,
            pending_size=0,  # else a publish that timed out while disconnected is sent after all
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnect,
            **options,
        )
        self._inbox = self.client.new_inbox()
        await self.client.hear(f"{self._inbox}.*", self._on_reply)

    @property
    def closed(self) -> bool:
        """Whether it was closed for good; otherwise it comes back by itself."""
        return bool(self.client.is_closed)

    async def until_closed(self) -> BusClosedError:
        """Wait until the connection is closed for good; the error that says so."""
        await self.client.ended.wait()
        return self.closed_error()

    def closed_error(self) -> BusClosedError:
        """What to raise of a connection that is closed for good, with the server's reason if it gave one."""
        why = without_secrets(str(self.client.last_error or self._last_error))
        return BusClosedError(f"the connection to the bus was closed for good: {why}")

    async def close(self) -> None:
        """Disconnect. What was sent stays sent; requests without an answer learn nothing."""
        if not self.client.is_closed:
            await self.client.close()
        self._fail_all(NoAnswerError("the connection was closed"))

    @asynccontextmanager
    async def replies(self) -> AsyncIterator[Replies]:
        """An inbox for one request, or for one batch of answers."""
        token = str(next(self._tokens))
        replies = Replies(f"{self._inbox}.{token}")
        self._open[token] = replies
        try:
            yield replies
        finally:
            del self._open[token]

    @asynccontextmanager
    async def deliveries(self) -> AsyncIterator[Replies]:
        """As `replies`, on a subscription of their own: a pulled message bears its stream's subject, not our inbox."""
        async with self.replies() as replies:
            replies.inbox = self.client.new_inbox()
            async with self.listening(replies.inbox, replies.put):
                yield replies

    @asynccontextmanager
    async def listening(self, subject: str, hear: Callable[[Heard], None]) -> AsyncIterator[None]:
        """Give every message on `subject` to `hear`, in order. Raises BusUnreachableError while not connected."""
        try:
            subscription = await self.client.hear(subject, hear)
        except (nats.errors.Error, OSError) as error:
            raise BusUnreachableError(f"not connected: {self._last_error}") from error
        try:
            yield
        finally:
            with suppress(nats.errors.Error, OSError):
                await self.client.unhear(subscription)

    async def send(
        self, subject: str, data: bytes, *, replies: Replies | None, headers: dict[str, str] | None = None
    ) -> None:
        """Send one message whose answers, if any are wanted, come to `replies`. Raises as told at the top."""
        if replies is not None:
            replies.subject = subject
        size = len(data) + _size_of(headers)
        if size > self.client.max_payload:
            raise TooLargeError(f"{subject}: {size} bytes are above the server's {self.client.max_payload}")
        try:
            await self.client.publish(subject, data, reply=replies.inbox if replies else "", headers=headers)
        except _NOT_SENT as error:
            raise BusUnreachableError(f"not connected: {self._last_error}") from error
        except _LOST as error:
            raise NoAnswerError(f"the connection was closed: {self._last_error}") from error

    async def ask(
        self, subject: str, data: bytes = b"", *, headers: dict[str, str] | None = None, within_s: float | None = None
    ) -> Heard:
        """One request and its one answer. Raises as told at the top of this file."""
        async with self.replies() as replies:
            await self.send(subject, data, replies=replies, headers=headers)
            return await replies.next(within_s or self.settings.request_within_s)

    async def api(
        self, method: str, body: dict[str, Any] | None = None, *, within_s: float | None = None
    ) -> dict[str, Any]:
        """One call of JetStream's API (`STREAM.INFO.x`). Raises as told at the top of this file."""
        message = await self.ask(self.method(method), json.dumps(body).encode() if body else b"", within_s=within_s)
        return answer_of(message)

    def method(self, name: str) -> str:
        """The subject of a method of JetStream's API, in this account or imported from another."""
        return f"{self.api_prefix}.{name}"

    async def patiently(self, call: Callable[[], Coroutine[Any, Any, _Answer]], *, within_s: float) -> _Answer:
        """`call` again while the bus is unreachable or silent, as during an election. For what may be repeated."""
        give_up_at = time.monotonic() + within_s
        pause_s = 0.02
        while True:
            try:
                return await call()
            except (BusUnreachableError, NoAnswerError) as error:
                if self.closed:
                    raise self.closed_error() from error
                if time.monotonic() + pause_s > give_up_at:
                    raise BusUnreachableError(str(error)) from error
            except ApiError as error:
                if error.code < 500:
                    raise
                if time.monotonic() + pause_s > give_up_at:
                    raise BusUnreachableError(f"JetStream does not serve: {error}") from error
            await asyncio.sleep(pause_s)
            pause_s = min(0.5, pause_s * 2)

    def _on_reply(self, message: Heard) -> None:
        replies = self._open.get(message.subject.rpartition(".")[2])
        if replies is not None:
            replies.put(message)

    async def _on_error(self, error: Exception) -> None:
        self._last_error = without_secrets(str(error) or type(error).__name__)
        if "authorization violation" in str(error).lower() or isinstance(error, nats.errors.AuthorizationError):
            self._refused.set()
        violation = _VIOLATION.search(str(error).lower())
        if violation is None:
            return
        kind, subject = violation.groups()  # nats-py gives the whole text in lower case
        for replies in self._open.values():
            if kind == "publish" and replies.subject.lower() == subject.lower():
                replies.put(NotPermittedError(f"the credentials do not allow publish to {replies.subject}"))
            elif kind == "subscription":
                replies.put(NotPermittedError(f"the credentials do not allow to listen on {subject}"))

    async def _on_disconnect(self) -> None:
        self._fail_all(NoAnswerError("the connection was lost"))

    def _fail_all(self, error: StreamError) -> None:
        for replies in self._open.values():
            replies.put(error)

    def _connect_error(self) -> StreamError:
        if self._refused.is_set():
            return NotPermittedError("the bus refuses these credentials")
        return BusUnreachableError(f"no connection to {', '.join(map(shown, self.settings.urls))}: {self._last_error}")


def _size_of(headers: dict[str, str] | None) -> int:
    """Bytes of the headers as sent. A server counts them, nats-py does not, and what is above ends the connection."""
    if headers is None:
        return 0
    return len("NATS/1.0\r\n\r\n") + sum(len(f"{k}: {v}\r\n".encode()) for k, v in headers.items())


def status_of(message: Heard, inbox: str) -> str:
    """The status of a message that is no data, such as 404; "" for data.

    What was stored has whatever headers its sender gave it, a status too. It is known by its subject, which is not
    the `inbox` that was to be answered, or in the answer to a read by the sequence that the server adds.
    """
    headers = message.headers or {}
    if message.subject != inbox or "Nats-Sequence" in headers:
        return ""
    return str(headers.get("Status", ""))


def answer_of(message: Heard) -> dict[str, Any]:
    """The JSON of an answer; ApiError if it is an error's, or none of JetStream's."""
    try:
        answer = json.loads(message.data)
    except ValueError as error:
        raise ApiError(500, 0, "the answer is no JSON") from error
    if not isinstance(answer, dict):
        raise ApiError(500, 0, "the answer is no object")
    fault = answer.get("error")
    if fault is not None:
        raise ApiError(int(fault.get("code", 500)), int(fault.get("err_code", 0)), str(fault.get("description", "")))
    return answer


def delivery_of(reply: str) -> tuple[int, int, int, int]:
    """What the acknowledgement subject of a consumer's message tells.

    Its stream sequence, its number among the deliveries, when it was stored in nanoseconds, how many wait behind it:
    `$JS.ACK.<stream>.<consumer>.<tries>.<sequence>.<delivery>.<time>.<waiting>`, with domain and account before the
    stream in a later form.
    """
    tokens = reply.split(".")
    at = 5 if len(tokens) == 9 else 7
    return int(tokens[at]), int(tokens[at + 1]), int(tokens[at + 2]), int(tokens[at + 3])
