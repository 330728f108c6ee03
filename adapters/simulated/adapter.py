"""The adapters of the simulated clusters: each call is a request on a channel, or three, and nothing else.

Both implement the required port, Holds, Requeues, Watches, ProvesCessation and Inspects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import msgspec

from adapters.simulated.host import Channel, Direct, Request
from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.kubeflow_calls import KubeflowCalls
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
Pause = Callable[[], Awaitable[None]]


class _Simulated:
    """What both shapes share. `pause` is how a watch waits between looks; without it there is no watch."""

    _calls: SlurmCalls | KubeflowCalls

    def __init__(
        self, cluster: SlurmCluster | KubeflowCluster, channel: Channel | None = None, pause: Pause | None = None
    ) -> None:
        self.cluster = cluster
        self._channel = channel or Direct()
        self._pause = pause

    async def capabilities(self) -> Capabilities:
        can = await self._read("capabilities", self._calls.capabilities)
        can = msgspec.structs.replace(can, **self.cluster.otherwise)
        return can if self._pause is None else msgspec.structs.replace(can, watch=True)

    async def find(self, name: JobName) -> Found:
        return await self._read("find", lambda: self._calls.find(name))

    async def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        return await self._read("ceased", lambda: self._calls.ceased(name, object, run))

    async def inspect(self, name: JobName, object: ObjectRef) -> Inspection:
        return await self._read("inspect", lambda: self._calls.inspect(name, object))

    async def watch(self) -> AsyncIterator[JobName]:
        """Each name whose objects changed since the last look, for ever."""
        told: dict[JobName, int] = {}
        while self._pause is not None:
            for name in tuple(self.cluster.names):
                changes = self.cluster.bearers(name).changes
                if told.get(name) != changes:
                    told[name] = changes
                    yield name
            await self._pause()
            self.cluster.advance()

    async def start(self, call: StartCall) -> ObjectRef:
        return await self._write("start", call, lambda: self._calls.start(call))

    async def stop(self, call: StopCall) -> None:
        await self._write("stop", call, lambda: self._calls.stop(call))

    async def stop_job(self, call: StopJobCall) -> None:
        await self._write("stop-job", call, lambda: self._calls.stop_job(call))

    async def hold(self, call: HoldCall) -> None:
        await self._write("hold", call, lambda: self._calls.hold(call))

    async def requeue(self, call: RequeueCall) -> None:
        await self._write("requeue", call, lambda: self._calls.requeue(call))

    async def _read(self, verb: str, act: Callable[[], T]) -> T:
        return await self._channel.carry(Request(self.cluster.host, verb, act))

    async def _write(self, verb: str, call: Call, act: Callable[[], T]) -> T:
        request = Request(self.cluster.host, verb, act, call)
        request.by(call.deadline_at, self.cluster.bound, lambda: self._calls.look(call))
        return await self._channel.carry(request)


class SlurmAdapter(_Simulated):
    """A Slurm-shaped cluster, reached over a channel. Several may share one cluster."""

    def __init__(self, cluster: SlurmCluster, channel: Channel | None = None, pause: Pause | None = None) -> None:
        super().__init__(cluster, channel, pause)
        self._calls: SlurmCalls = SlurmCalls(cluster)

    async def open(self, call: OpenCall) -> None:
        await self._write("open", call, lambda: self._calls.open(call))

    async def release(self, call: ReleaseCall) -> None:
        await self._write("release", call, lambda: self._calls.release(call))


class KubeflowAdapter(_Simulated):
    """A Kubeflow-shaped cluster, reached over a channel. Several may share one cluster."""

    def __init__(self, cluster: KubeflowCluster, channel: Channel | None = None, pause: Pause | None = None) -> None:
        super().__init__(cluster, channel, pause)
        self._kueue = cluster.settings.kueue
        self._calls: KubeflowCalls = KubeflowCalls(cluster)

    async def open(self, call: OpenCall) -> None:
        await self._admit("open", call)

    async def release(self, call: ReleaseCall) -> None:
        """Plain: a release begins a run, so it is an admission. Kueue: the workload may be given quota again."""
        if self._kueue:
            await self._write("release", call, lambda: self._calls.reactivate(call))
        else:
            await self._admit("release", call)

    async def _admit(self, verb: str, call: OpenCall | ReleaseCall) -> None:
        """Read the version, then list the pods, then write with that version: in this order only."""
        version = await self._read(f"{verb}: read", lambda: self._calls.read_gate(call))
        await self._read(f"{verb}: list pods", lambda: self._calls.list_pods(call))
        await self._write(verb, call, lambda: self._calls.write_admission(call, version))
