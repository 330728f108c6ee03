"""The agent of one cluster: serves an adapter over the bus, next to its scheduler.

It answers calls by request and reply, wakes jobs that the adapter's watch names, keeps the newest pair it was called
with (L14), and is the host whose clock checks deadlines (L10). Any number of agents of one cluster share the calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import ParamSpec, TypeVar

import msgspec
import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from adapters import wire
from adapters.errors import AdapterError, DeadlinePassedError, OutcomeUnknownError, RefusedError, UnreachableError
from adapters.floors import FloorStore, newer
from adapters.port import Adapter, Watches
from streams import subjects
from streams.errors import StreamError
from streams.messages.calls import Call
from streams.ports import WakeUps

GROUP = "agents"
MAX_CALLS = 8
IN_HAND_MAX = 512
WATCH_AGAIN_S = 1.0
Answered = Callable[[str, str, float], None]
P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger("adapters.remote.agent")


class Agent:
    """Serves until `drain`. At most `max_calls` calls, and as many queries, are with the adapter at one time.

    `floors` is for an adapter whose Find gives no floor of its own, but is kept for any; its folder is this agent's
    alone. The deadline is checked by this host's wall clock, which an adapter's own is never behind.
    """

    def __init__(
        self,
        client: Client,
        adapter: Adapter,
        cluster: str,
        *,
        floors: FloorStore,
        max_calls: int = MAX_CALLS,
    ) -> None:
        self.cluster = subjects.check_token(cluster, "cluster")
        self.adapter = adapter
        self._client = client
        self._floors = floors
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="called-with")  # one at a time, in their order
        self._calls, self._queries = asyncio.Semaphore(max_calls), asyncio.Semaphore(max_calls)
        self.version = ""
        self._answered: Answered = lambda *_: None
        self._in_hand: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._subscription: Subscription | None = None

    def tell(self, answered: Answered) -> None:
        """Let `answered` hear of every answer: verb, outcome (`word_of`, or done), seconds since the request."""
        self._answered = answered

    @property
    def in_hand(self) -> int:
        """How many requests are taken and not yet answered."""
        return len(self._in_hand)

    async def start(self, *, wakeups: WakeUps | None = None) -> None:
        """Answer from now on, and give what the adapter's watch names to `wakeups`. Raises what the connection raises."""
        self._subscription = await self._client.subscribe(
            subjects.agents(self.cluster), queue=GROUP, cb=self._take, pending_msgs_limit=0, pending_bytes_limit=0
        )
        for _ in range(2):  # nats-py's PING overtakes a SUB that waits to be written; the second one cannot
            await self._client.flush()
        if wakeups is not None and isinstance(self.adapter, Watches):
            self._watching = asyncio.create_task(self._watch(self.adapter, wakeups))
        log.info("agent is live", cluster=self.cluster)

    async def drain(self, bound_s: float) -> None:
        """Take nothing more, and let what is in hand finish, at most this long; what does not is left unanswered."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching}, timeout=bound_s)
        if self._subscription is not None:
            with contextlib.suppress(nats.errors.Error, OSError):
                await self._subscription.unsubscribe()
                await self._client.flush()
        if self._in_hand:
            log.info("agent is draining", cluster=self.cluster, calls=len(self._in_hand))
            _, late = await asyncio.wait(self._in_hand, timeout=bound_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._disk.shutdown(wait=False)

    async def _take(self, message: Msg) -> None:
        """Give each request a task of its own, so that a slow call keeps no Find waiting."""
        if len(self._in_hand) >= IN_HAND_MAX:
            await self._respond(message, wire.failed(UnreachableError("the agent has too many calls in hand")))
            return
        task = asyncio.create_task(self._serve(message))
        self._in_hand.add(task)
        task.add_done_callback(self._in_hand.discard)

    async def _serve(self, message: Msg) -> None:
        try:
            request = self._read(message)
        except RefusedError as error:
            await self._respond(message, wire.failed(error))
            return
        begun = time.perf_counter()
        async with self._calls if wire.is_call(request) else self._queries:
            reply, outcome = await self._answer(request)
        self._answered(wire.verb_of(request), outcome, time.perf_counter() - begun)
        await self._respond(message, reply)

    def _read(self, message: Msg) -> wire.Request:
        """The request, which must be what its subject says: permissions are given by subject. Raises RefusedError."""
        try:
            request = wire.decode_request(message.data)
        except msgspec.DecodeError as error:
            raise RefusedError(f"not a request: {error}") from error
        if message.subject != subjects.agent(self.cluster, wire.verb_of(request)):
            raise RefusedError(f"a {wire.verb_of(request)} may not be asked for on {message.subject}")
        return request

    async def _answer(self, request: wire.Request) -> tuple[wire.Reply, str]:
        """The reply, and the word for it."""
        try:
            if wire.is_call(request):
                await self._check(request)
            return await self._completed(request, await wire.serve(self.adapter, request)), "done"
        except AdapterError as error:
            outcome = word_of(error)
            log.info(outcome, verb=wire.verb_of(request), why=str(error), **_numbers(request))
            return wire.failed(error), outcome
        except Exception:  # any: what else an adapter raises counts as unknown (adapters.errors)
            log.exception("adapter failed", verb=wire.verb_of(request), **_numbers(request))
            fault = OutcomeUnknownError("the adapter failed in a way nobody foresaw; the agent's log says how")
            return wire.failed(fault), word_of(fault)

    async def _check(self, call: Call) -> None:
        """Remember the call's pair, and refuse it past its deadline: the last thing before it is handed on.

        The pair is on disk before this returns; only then may the call run (L14).
        """
        try:
            await self._on_disk(self._floors.note, call.name, call.pair)
        except (OSError, msgspec.DecodeError) as error:
            raise UnreachableError(f"the agent cannot keep what it was called with: {type(error).__name__}") from error
        late_s = (datetime.now(UTC) - call.deadline_at).total_seconds()
        if late_s > 0:
            raise DeadlinePassedError(f"{late_s:.1f} s past its deadline")

    async def _on_disk(self, act: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """Use the floors beside the event loop: two waits for a disk a call would keep every other answer waiting."""
        return await asyncio.get_running_loop().run_in_executor(self._disk, partial(act, *given, **named))

    async def _completed(self, request: wire.Request, reply: wire.Reply) -> wire.Reply:
        """With what the agent knows beside its adapter: its version, and what it was called with."""
        if isinstance(reply, wire.CapabilitiesReply):
            able = msgspec.structs.replace(reply.capabilities, version=self.version)
            return wire.CapabilitiesReply(capabilities=able)
        if not isinstance(reply, wire.FoundReply) or not isinstance(request, wire.FindQuery):
            return reply
        try:
            kept = await self._on_disk(self._floors.newest, request.name)
        except (OSError, msgspec.DecodeError) as error:
            raise UnreachableError(f"the agent cannot read what it was called with: {type(error).__name__}") from error
        return wire.FoundReply(found=msgspec.structs.replace(reply.found, floor=newer(reply.found.floor, kept)))

    async def _respond(self, message: Msg, reply: wire.Reply) -> None:
        data = wire.encode(reply)
        if len(data) > self._client.max_payload:
            data = wire.encode(
                wire.failed(UnreachableError(f"the answer of {len(data)} bytes is too large for the bus"))
            )
        try:
            await message.respond(data)
        except (nats.errors.Error, OSError) as error:
            log.warning("reply was not sent", why=type(error).__name__)

    async def _watch(self, adapter: Watches, wakeups: WakeUps) -> None:
        """Turn what changed into wake-ups, for ever: a watch that ends or fails is begun again (R15)."""
        while True:
            try:
                if not (await self.adapter.capabilities()).watch:
                    return
                async for name in adapter.watch():
                    await wakeups.wake(name.tenant, name.job)
            except (AdapterError, StreamError) as error:
                log.warning("watch failed", why=str(error))
            except Exception:  # any: a watch only wakes (L13); whatever ends it, it is begun again
                log.exception("watch failed")
            await asyncio.sleep(WATCH_AGAIN_S)


def word_of(error: AdapterError) -> str:
    """What is counted of an answer that is an error."""
    match error:
        case DeadlinePassedError():
            return "late"
        case RefusedError():
            return "refused"
        case UnreachableError():
            return "unreachable"
        case _:
            return "unknown"


def _numbers(request: wire.Request) -> dict[str, str | int]:
    """Where in the history a request is found: its job, and for a call its number and the revision of its intent."""
    name = getattr(request, "name", None)
    found: dict[str, str | int] = {} if name is None else {"tenant": name.tenant, "job": name.job}
    if wire.is_call(request):
        found |= {"call": request.call, "revision": request.pair.revision}
    return found
