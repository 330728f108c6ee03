"""Asking a cluster from here: through its agent, or on this machine the local one's own directory. Reads only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from adapters.asking import AskingAdapter
from adapters.errors import AdapterError
from dispatch.cli.session import Session
from projections.record import Record
from streams.jetstream.connect import JetStreamBus
from streams.messages.calls import Capabilities, Inspection, JobName
from streams.messages.values import Found, ObjectRef

T = TypeVar("T")
ASK_WITHIN_S = 5.0


def adapter_for(session: Session, cluster: str) -> AskingAdapter | None:
    """The way to a cluster from here; None where there is none."""
    settings = session.tool.settings
    if settings.local_dir is not None and settings.local_dir.is_dir() and cluster == "local":
        from adapters.local.adapter import LocalAdapter

        return LocalAdapter(settings.local_dir)
    if isinstance(session.bus, JetStreamBus):
        from adapters.remote.client import RemoteAdapter

        return RemoteAdapter(session.bus.wire.client, cluster)
    return None


def job_name(session: Session, record: Record) -> JobName:
    """The job as its cluster knows it."""
    installation = session.bus.layout.installation if isinstance(session.bus, JetStreamBus) else "none"
    return JobName(installation=installation, tenant=record.tenant, job=record.job)


async def answered(question: Awaitable[T]) -> T | None:
    """The answer, or None when the cluster gives none in time or refuses."""
    try:
        async with asyncio.timeout(ASK_WITHIN_S):
            return await question
    except (AdapterError, TimeoutError):
        return None


async def capabilities_of(session: Session, cluster: str) -> Capabilities | None:
    """What the cluster says it can do; None when it does not answer."""
    adapter = adapter_for(session, cluster)
    return None if adapter is None else await answered(adapter.capabilities())


async def find(session: Session, record: Record) -> Found | None:
    """The job's objects now; None when the cluster does not answer. Never appended from here."""
    if record.spec is None:
        return None
    adapter = adapter_for(session, record.spec.cluster)
    return None if adapter is None else await answered(adapter.find(job_name(session, record)))


async def inspections(session: Session, record: Record) -> tuple[tuple[ObjectRef, Inspection], ...]:
    """What the cluster says now of every object that is not ended: shown as `live`, never appended."""
    if record.spec is None:
        return ()
    adapter = adapter_for(session, record.spec.cluster)
    if adapter is None:
        return ()
    name = job_name(session, record)
    refs = [ref for ref, held in record.objects.items() if not held.accounted]
    found = [(ref, await answered(adapter.inspect(name, ref))) for ref in refs]
    return tuple((ref, inspection) for ref, inspection in found if inspection is not None)


async def agents(session: Session, clusters: Sequence[str]) -> dict[str, str | None]:
    """The version of each of these clusters' agents; None of one that does not answer or tells none.

    A cluster that is reached without an agent has none.
    """
    ways = {cluster: adapter_for(session, cluster) for cluster in clusters}
    remote = {cluster: way for cluster, way in ways.items() if way is not None and not way.direct}
    told = await asyncio.gather(*(answered(way.capabilities()) for way in remote.values()))
    return {cluster: (able.version or None) if able else None for cluster, able in zip(remote, told, strict=True)}


def server_version(session: Session) -> str | None:
    """The version of the server that this connection is with; None where there is none."""
    if not isinstance(session.bus, JetStreamBus):
        return None
    return ".".join(map(str, session.bus.server_version))
