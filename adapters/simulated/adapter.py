"""The adapters of the simulated clusters: each call is one request on a channel, and nothing else.

SlurmAdapter implements the required port, Holds, Requeues, Watches, ProvesCessation and Inspects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from adapters.simulated.host import Channel, Direct, Request
from adapters.simulated.slurm import SlurmCluster
from adapters.simulated.slurm_calls import SlurmCalls
from streams.messages.calls import (
    Call,
    Capabilities,
    Cessation,
    HoldCall,
    Inspection,
    JobName,
    OpenCall,
    ReleaseCall,
    RequeueCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.values import Found, ObjectRef

T = TypeVar("T")


class SlurmAdapter:
    """A Slurm-shaped cluster, reached over a channel. Several may share one cluster."""

    def __init__(self, cluster: SlurmCluster, channel: Channel | None = None) -> None:
        self.cluster = cluster
        self._channel = channel or Direct()
        self._calls = SlurmCalls(cluster)

    async def capabilities(self) -> Capabilities:
        return await self._read("capabilities", self._calls.capabilities)

    async def find(self, name: JobName) -> Found:
        return await self._read("find", lambda: self._calls.find(name))

    async def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        return await self._read("ceased", lambda: self._calls.ceased(name, object, run))

    async def inspect(self, name: JobName, object: ObjectRef) -> Inspection:
        return await self._read("inspect", lambda: self._calls.inspect(name, object))

    async def watch(self) -> AsyncIterator[JobName]:
        """Every name known so far, once."""
        for name in await self._read("watch", lambda: self._calls.watched(0)):
            yield name

    async def start(self, call: StartCall) -> ObjectRef:
        return await self._write("start", call, lambda: self._calls.start(call))

    async def open(self, call: OpenCall) -> None:
        await self._write("open", call, lambda: self._calls.open(call))

    async def stop(self, call: StopCall) -> None:
        await self._write("stop", call, lambda: self._calls.stop(call))

    async def stop_job(self, call: StopJobCall) -> None:
        await self._write("stop-job", call, lambda: self._calls.stop_job(call))

    async def hold(self, call: HoldCall) -> None:
        await self._write("hold", call, lambda: self._calls.hold(call))

    async def release(self, call: ReleaseCall) -> None:
        await self._write("release", call, lambda: self._calls.release(call))

    async def requeue(self, call: RequeueCall) -> None:
        await self._write("requeue", call, lambda: self._calls.requeue(call))

    async def _read(self, verb: str, act: Callable[[], T]) -> T:
        return await self._channel.carry(Request(self.cluster.host, verb, act))

    async def _write(self, verb: str, call: Call, act: Callable[[], T]) -> T:
        request = Request(self.cluster.host, verb, act, f"c{call.call}")
        request.by(call.deadline_at, self.cluster.bound, lambda: self._calls.look(call))
        return await self._channel.carry(request)
