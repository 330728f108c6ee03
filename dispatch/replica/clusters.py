"""The clusters a replica can reach: bounded calls, and one question at a time to a cluster that does not answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from adapters.errors import AdapterError, OutcomeUnknownError, RefusedError, UnreachableError
from adapters.port import Adapter, Holds, Inspects, ProvesCessation, ReadsOutput, Requeues, Watches
from streams.messages.calls import (
    Call,
    Capabilities,
    Cessation,
    HoldCall,
    Inspection,
    JobName,
    OpenCall,
    Output,
    ReleaseCall,
    RequeueCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.values import Found, ObjectRef

T = TypeVar("T")
Called = Callable[[str, str, str, float], None]

log = structlog.get_logger("dispatch.clusters")

READ_BOUND_S = 20.0
WRITE_BOUND_S = 90.0
ANSWER_GRACE_S = 5.0
CAPABILITIES_FRESH_S = 60.0
SILENT_FOR_S = 2.0
UNKNOWN = "unknown"


class BoundedAdapter:
    """An adapter whose every answer comes within a bound, and which is not asked again while it is silent.

    A read that takes too long is Unreachable; a write that takes too long is OutcomeUnknown (L9). A cluster that
    did not answer is asked once for all its jobs, not once per job. `called` hears of every answer: cluster,
    verb, outcome, seconds.
    """

    def __init__(self, cluster: str, adapter: Adapter, called: Called = lambda *_: None) -> None:
        self.cluster = cluster
        self._called = called
        self.last_good_find_at: datetime | None = None
        self._adapter = adapter
        self._capabilities: Capabilities | None = None
        self._fresh_until = 0.0
        self._silent_until = 0.0

    async def capabilities(self) -> Capabilities:
        """The cluster's capabilities, asked again once a minute; the last known ones while it is silent."""
        now = asyncio.get_running_loop().time()
        if self._capabilities is not None and now < self._fresh_until:
            return self._capabilities
        try:
            self._capabilities = await self._read("capabilities", self._adapter.capabilities())
        except UnreachableError:
            if self._capabilities is None:
                raise
        self._fresh_until = now + CAPABILITIES_FRESH_S
        return self._capabilities

    async def find(self, name: JobName) -> Found:
        found = await self._read("find", self._adapter.find(name))
        self.last_good_find_at = datetime.now(UTC)
        return found

    async def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        if not isinstance(self._adapter, ProvesCessation):
            raise UnreachableError(f"{self.cluster} cannot prove that processes are gone")
        return await self._read("ceased", self._adapter.ceased(name, object, run))

    async def inspect(self, name: JobName, object: ObjectRef) -> Inspection:
        if not isinstance(self._adapter, Inspects):
            return Inspection()
        return await self._read("inspect", self._adapter.inspect(name, object))

    async def read_output(self, name: JobName, object: ObjectRef, run: int, rank: int, *, offset: int = 0) -> Output:
        if not isinstance(self._adapter, ReadsOutput):
            raise UnreachableError(f"{self.cluster} serves no output")
        return await self._read("read-output", self._adapter.read_output(name, object, run, rank, offset=offset))

    async def start(self, call: StartCall) -> ObjectRef:
        return await self._write(call, self._adapter.start(call))

    async def open(self, call: OpenCall) -> None:
        await self._write(call, self._adapter.open(call))

    async def stop(self, call: StopCall) -> None:
        await self._write(call, self._adapter.stop(call))

    async def stop_job(self, call: StopJobCall) -> None:
        await self._write(call, self._adapter.stop_job(call))

    async def hold(self, call: HoldCall) -> None:
        if not isinstance(self._adapter, Holds):
            raise RefusedError(f"{self.cluster} cannot hold")
        await self._write(call, self._adapter.hold(call))

    async def release(self, call: ReleaseCall) -> None:
        if not isinstance(self._adapter, Holds):
            raise RefusedError(f"{self.cluster} cannot release")
        await self._write(call, self._adapter.release(call))

    async def requeue(self, call: RequeueCall) -> None:
        if not isinstance(self._adapter, Requeues):
            raise RefusedError(f"{self.cluster} cannot requeue")
        await self._write(call, self._adapter.requeue(call))

    async def watch(self) -> AsyncIterator[JobName]:
        if isinstance(self._adapter, Watches):
            async for name in self._adapter.watch():
                yield name

    async def _read(self, verb: str, question: Awaitable[T]) -> T:
        """One bounded question; for a while after a silence nobody asks, so that passes do not queue up for it."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._silent_until:
            _dismiss(question)
            raise UnreachableError(f"{self.cluster} did not answer a moment ago")
        try:
            with self._heard(verb):
                answer = await self._within(READ_BOUND_S, question)
        except UnreachableError:
            self._silent_until = loop.time() + SILENT_FOR_S
            raise
        self._silent_until = 0.0
        return answer

    async def _within(self, bound_s: float, question: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(bound_s):
                return await question
        except TimeoutError:
            raise UnreachableError(f"{self.cluster} gave no answer within {bound_s:.0f}s") from None

    async def _write(self, call: Call, sent: Awaitable[T]) -> T:
        """One call, given up as unknown once it could not be answered in time to matter."""
        left = (call.deadline_at - datetime.now(UTC)).total_seconds()
        with self._heard(str(type(call).__struct_config__.tag), call):
            try:
                async with asyncio.timeout(min(max(left, 1.0) + ANSWER_GRACE_S, WRITE_BOUND_S)):
                    return await sent
            except TimeoutError:
                raise OutcomeUnknownError(f"{self.cluster} gave no answer in time") from None

    @contextmanager
    def _heard(self, verb: str, call: Call | None = None) -> Iterator[None]:
        """Count what comes of a call or a question, and log a call with the numbers that find it in the history."""
        begun = time.perf_counter()
        outcome = UNKNOWN
        try:
            yield
            outcome = "done"
        except AdapterError as error:
            outcome = outcome_of(error)
            raise
        finally:
            self._called(self.cluster, verb, outcome, time.perf_counter() - begun)
            if call is not None:
                log.info("call", cluster=self.cluster, verb=verb, outcome=outcome, **_numbers(call))


def outcome_of(error: AdapterError) -> str:
    """The word for what an adapter raised; whatever else it raises counts as unknown."""
    if isinstance(error, RefusedError):
        return "refused"
    return "unreachable" if isinstance(error, UnreachableError) else UNKNOWN


def _numbers(call: Call) -> dict[str, Any]:
    submission = call.tag.submission if isinstance(call, StartCall) else getattr(call, "submission", None)
    return {
        "tenant": call.name.tenant,
        "job": call.name.job,
        "submission": submission,
        "call": call.call,
        "revision": call.pair.revision,
    }


def _dismiss(question: Awaitable[Any]) -> None:
    """A coroutine that will not be awaited is closed, so that nothing of it is left behind."""
    if isinstance(question, Coroutine):
        question.close()


class Clusters:
    """Adapters by cluster name: those given, and any other by way of its agent."""

    def __init__(
        self,
        given: dict[str, Adapter],
        remote: Callable[[str], Adapter] | None,
        *,
        only: tuple[str, ...] | None = None,
    ) -> None:
        self._only = only
        self._called: Called = lambda *_: None
        self._by_name = {name: BoundedAdapter(name, adapter, self._hear) for name, adapter in given.items()}
        self._remote = remote

    def tell(self, called: Called) -> None:
        """Let `called` hear of every answer from now on."""
        self._called = called

    def _hear(self, cluster: str, verb: str, outcome: str, took_s: float) -> None:
        self._called(cluster, verb, outcome, took_s)

    def adapter_of(self, cluster: str) -> BoundedAdapter | None:
        """The way to a cluster, or None if this replica has none."""
        held = self._by_name.get(cluster)
        allowed = self._only is None or cluster in self._only
        if held is None and self._remote is not None and allowed:
            held = self._by_name[cluster] = BoundedAdapter(cluster, self._remote(cluster), self._hear)
        return held

    def known(self) -> tuple[BoundedAdapter, ...]:
        return tuple(self._by_name.values())

    def last_good_find(self, cluster: str) -> datetime | None:
        """When this replica last had a complete Find of the cluster."""
        held = self._by_name.get(cluster)
        return held.last_good_find_at if held is not None else None
