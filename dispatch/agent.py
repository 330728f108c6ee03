"""`dispatch agent`: serve one cluster over the bus, next to its scheduler, until told to stop.

The agent appends nothing. Its host's clock checks deadlines (L10), and it keeps on disk the newest pair that it was
called with for each job (L14), so it wants a directory that outlives it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from adapters.clock import HostClock, read_boot_id
from adapters.floors import FloorStore
from adapters.local.adapter import LocalAdapter
from adapters.port import Adapter
from adapters.remote.agent import MAX_CALLS, Agent
from adapters.remote.gone import GoneAdapter
from dispatch import identity
from dispatch.agent_metrics import AgentMetrics
from dispatch.exposition import exposed
from streams.errors import BusClosedError
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.settings import BusSettings
from streams.owned import make_own

DRAIN_S = 20.0


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`directory`: what the agent keeps, and for a local cluster everything of it.

    `attested_by` and `reason` are set for a cluster that no longer exists: then nothing else is served. `metrics`:
    HOST:PORT to serve Prometheus metrics on.
    """

    cluster: str
    directory: Path
    slots: int | None = None
    max_calls: int = MAX_CALLS
    drain_s: float = DRAIN_S
    metrics: str | None = None
    attested_by: str | None = None
    reason: str = ""


async def serve(settings: BusSettings, options: AgentOptions, say: Callable[[str], None], stop: asyncio.Event) -> None:
    """Serve until `stop` is set, then finish what is in hand within the bound.

    Raises what connecting to the bus raises, BusClosedError when the bus closes the connection for good, and ValueError
    when the directory belongs to another cluster or others may write it, or metrics cannot be served on their address.
    """
    make_own(options.directory)
    bus = await connect(settings)
    try:
        adapter = _adapter(options)
        floors = FloorStore(options.directory / "called-with")
        agent = Agent(bus.wire.client, adapter, options.cluster, floors=floors, max_calls=options.max_calls)
        able = await adapter.capabilities()
        metrics = AgentMetrics(options.cluster)
        metrics.in_hand.set_function(lambda: agent.in_hand)
        agent.tell(metrics.answered)
        agent.version = identity.version()
        metrics.gone.set(options.attested_by is not None)
        with exposed(metrics.registry, options.metrics):
            await agent.start(wakeups=bus.wakeups)
            host = socket.gethostname()
            say(f"agent {options.cluster} live on {host}: {able.kind}, CallBound {able.call_bound_s:g}s")
            closed = await _stopped_or_closed(bus, stop)
            metrics.draining.set(1)
            await agent.drain(options.drain_s)
            if closed is not None:
                raise closed
    finally:
        await bus.close()


async def _stopped_or_closed(bus: JetStreamBus, stop: asyncio.Event) -> BusClosedError | None:
    """Wait until told to stop, or until no call can reach this agent any more: then the error that says so."""
    stopped, closed = asyncio.create_task(stop.wait()), asyncio.create_task(bus.wire.until_closed())
    try:
        await asyncio.wait({stopped, closed}, return_when=asyncio.FIRST_COMPLETED)
        return None if stopped.done() else closed.result()
    finally:
        stopped.cancel()
        closed.cancel()


def _adapter(options: AgentOptions) -> Adapter:
    if options.attested_by is None:
        return LocalAdapter(options.directory, cluster=options.cluster, slots=options.slots, base_dir=Path.cwd())
    clock = HostClock(options.directory / "clock", boot=read_boot_id())
    return GoneAdapter(options.cluster, attested_by=options.attested_by, reason=options.reason, now=clock.now)
