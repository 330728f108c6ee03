"""The clusters a replica can reach: bounded calls, and one question at a time to a cluster that does not answer."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from adapters.errors import (
    AdapterError,
    OutcomeUnknownError,
    RefusedError,
    SilentError,
    UnreachableError,
    questioned,
)
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
REFUSABLE = ("inspect", "read-output")
UNANSWERED_MAX = 64
NEVER_ANSWERED = "_never-answered"
EVERY = "*"
TELL_OF_ALL = ("find", "capabilities")


class BoundedAdapter:
    """An adapter whose every answer comes within a bound, and which is not asked again while it is silent.

    A read that takes too long is Unreachable; a write that takes too long is OutcomeUnknown (L9). A cluster that
    does not answer is asked once for all its jobs, not once per job: while its silence lasts, and from the moment
    that a question has waited for SILENT_FOR_S and none was answered meanwhile. Only a question that every job asks
    alike tells of the cluster (TELL_OF_ALL): one after a single node, or a rank's output, may hang for reasons of its
    own. An answer that says "unreachable" is one: it keeps no other job waiting. `called` hears of every answer:
    cluster, verb, outcome, seconds.
    """

    def __init__(self, cluster: str, adapter: Adapter, called: Called = lambda *_: None) -> None:
        self.cluster = cluster
        self._called = called
        self.last_good_find_at: datetime | None = None
        self.answered = False
        self._adapter = adapter
        self._capabilities: Capabilities | None = None
        self._fresh_until = 0.0
        self._silent_until: float | None = None
        self._heard_at = float("-inf")
        self._waiting: dict[object, float] = {}

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

    @property
    def watches(self) -> bool:
        """Whether it tells what changed by itself; an agent wakes the jobs of its cluster instead."""
        return isinstance(self._adapter, Watches)

    async def watch(self) -> AsyncIterator[JobName]:
        if isinstance(self._adapter, Watches):
            async for name in self._adapter.watch():
                yield name

    async def _read(self, verb: str, question: Awaitable[T]) -> T:
        """One bounded question; nobody else asks a cluster that is silent, so that passes do not queue up for it."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        if self._is_silent(begun):
            _dismiss(question)
            raise SilentError(f"{self.cluster} did not answer a moment ago")
        asked, tells = object(), verb in TELL_OF_ALL
        if tells:
            self._waiting[asked] = begun
        try:
            with questioned(refusable=verb in REFUSABLE), self._heard(verb):
                answer = await self._within(READ_BOUND_S, question)
        except SilentError:
            if tells and self._heard_at < begun:
                self._silent_until = loop.time() + SILENT_FOR_S
            raise
        except AdapterError:
            self._answers(loop.time())
            raise
        finally:
            self._waiting.pop(asked, None)
        self._answers(loop.time())
        return answer

    def _is_silent(self, now: float) -> bool:
        """Whether to ask has no use now: it was silent a moment ago, one asks already, or one waits and none is heard."""
        if self._silent_until is not None:
            return now < self._silent_until or bool(self._waiting)
        oldest = next(iter(self._waiting.values()), now)
        return now - max(oldest, self._heard_at) > SILENT_FOR_S

    def _answers(self, now: float) -> None:
        self._heard_at, self._silent_until = now, None

    async def _within(self, bound_s: float, question: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(bound_s):
                return await question
        except TimeoutError:
            raise SilentError(f"{self.cluster} gave no answer within {bound_s:.0f}s") from None

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
            outcome, self.answered = "done", True
        except AdapterError as error:
            outcome = outcome_of(error)
            self.answered = self.answered or not isinstance(error, SilentError | OutcomeUnknownError)
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
    """Adapters by cluster name: those given, and any other by way of its agent.

    `only`: the names that this replica serves, None: every one. Of the names that nobody gave and no agent ever
    answered to, the UNANSWERED_MAX last asked for are kept, and nobody is told of them: anyone may type a name.
    """

    def __init__(
        self,
        given: dict[str, Adapter],
        remote: Callable[[str], Adapter] | None,
        *,
        only: tuple[str, ...] | None = None,
    ) -> None:
        self._only = only
        self._called: Called = lambda *_: None
        self._known = {name: BoundedAdapter(name, adapter, self._hear) for name, adapter in given.items()}
        self._unanswered: OrderedDict[str, BoundedAdapter] = OrderedDict()
        self._remote = remote
        if remote is not None:
            for name in only or ():
                self._known.setdefault(name, BoundedAdapter(name, remote(name), self._hear))

    @property
    def serves(self) -> tuple[str, ...]:
        """The names that this replica was told to serve, in order; EVERY alone if it was told none."""
        return (EVERY,) if self._only is None else tuple(sorted(set(self._only)))

    def tell(self, called: Called) -> None:
        """Let `called` hear of every answer from now on; NEVER_ANSWERED stands for clusters that are not known."""
        self._called = called

    def _hear(self, cluster: str, verb: str, outcome: str, took_s: float) -> None:
        held = self._unanswered.get(cluster)
        if held is not None and held.answered:
            self._known[cluster] = self._unanswered.pop(cluster)
        self._called(cluster if cluster in self._known else NEVER_ANSWERED, verb, outcome, took_s)

    def adapter_of(self, cluster: str) -> BoundedAdapter | None:
        """The way to a cluster, or None if this replica has none."""
        held = self._known.get(cluster) or self._unanswered.get(cluster)
        if held is None and self._remote is not None and self._only is None:
            held = BoundedAdapter(cluster, self._remote(cluster), self._hear)
        if held is not None and cluster not in self._known:
            self._keep(held)
        return held

    def _keep(self, unanswered: BoundedAdapter) -> None:
        """Remember its silence; the name that was asked for longest ago gives way."""
        self._unanswered[unanswered.cluster] = unanswered
        self._unanswered.move_to_end(unanswered.cluster)
        if len(self._unanswered) > UNANSWERED_MAX:
            self._unanswered.popitem(last=False)

    def known(self) -> tuple[BoundedAdapter, ...]:
        """The clusters that were given or named at the start, and those that have answered at least once."""
        return tuple(self._known.values())

    def last_good_find(self, cluster: str) -> datetime | None:
        """When this replica last had a complete Find of the cluster."""
        held = self._known.get(cluster)
        return held.last_good_find_at if held is not None else None
