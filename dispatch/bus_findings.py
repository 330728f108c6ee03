"""What is wrong with a bus, and what to do: servers, streams, leader, clocks, rights, replicas. Reads only."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import Any

from dispatch import clocks
from dispatch.config import Settings
from dispatch.findings import Finding, fail, ok, warn
from dispatch.mending import mend
from dispatch.rights import MAKE_STREAMS, rights_of
from streams.errors import BusUnreachableError, NotPermittedError, SettingsError, StreamError
from streams.jetstream.check import Profile, ServerFacts, check
from streams.jetstream.connect import JetStreamBus
from streams.jetstream.layout import history_stream, streams_of
from streams.jetstream.monitor import read_monitor
from streams.jetstream.read import instant
from streams.jetstream.wire import ApiError

STEP_CLOCKS = "let NTP set every machine's clock: pauses and timers are told in it"


async def of_bus(bus: JetStreamBus, settings: Settings, *, single: bool) -> AsyncIterator[Finding]:
    """Every finding of this bus, for these credentials."""
    for each in await _settings(bus, Profile.SINGLE if single else Profile.PRODUCTION):
        yield each
    yield ok("bus", f"history generation {bus.generation}, {bus.layout.shards} shards, lease {bus.layout.lease_s:g}s")
    async for each in _streams(bus):
        yield each
    async for each in _clocks(bus):
        yield each
    async for each in _rights(bus, settings, single=single):
        yield each
    async for each in _answers(bus):
        yield each


async def _settings(bus: JetStreamBus, profile: Profile) -> list[Finding]:
    """The start-up check, each difference with what mends it."""
    layout = bus.layout
    try:
        servers = await check(bus, profile)
    except SettingsError as error:
        return [fail("bus", sentence, mend(sentence, layout)) for sentence in error.differences]
    except NotPermittedError as error:
        return [warn("bus", f"its settings cannot be checked: {error}", "ask with a supervisor's credentials")]
    except StreamError as error:
        return [fail("bus", f"its settings cannot be read: {error}")]
    copies = "1 copy" if layout.replicas == 1 else f"{layout.replicas} copies"
    return [
        *of_servers(servers),
        ok("bus", f"streams, buckets and consumers are as they must be: {copies}"),
    ]


def of_servers(servers: Sequence[ServerFacts]) -> Iterator[Finding]:
    """How many servers there are and of which versions; the check found nothing else wrong with them."""
    versions = sorted({server.version for server in servers})
    yield ok("bus", f"{len(servers)} server{'s' if len(servers) != 1 else ''} {', '.join(versions)}, sync always")
    if len(versions) > 1:
        yield warn("bus", f"servers are of {len(versions)} versions", "bring them to one")


async def _streams(bus: JetStreamBus) -> AsyncIterator[Finding]:
    """Who leads the history, and every copy of any stream that is away or behind."""
    history = history_stream(bus.generation)
    for stream in (str(settings["name"]) for settings in streams_of(bus.layout, bus.generation)):
        try:
            told = await bus.wire.api(f"STREAM.INFO.{stream}")
        except (NotPermittedError, ApiError):
            continue  # what is missing or not allowed was told by the check
        except StreamError as error:
            yield fail("bus", f"{stream} gives no answer: {error}")
            continue
        for each in of_copies(stream, told.get("cluster") or {}, lead=stream == history):
            yield each


def of_copies(stream: str, group: dict[str, Any], *, lead: bool) -> Iterator[Finding]:
    """From the `cluster` of a stream's info: its leader (`lead`: told also when all is well) and its other copies."""
    leader, peers = group.get("leader") or "", group.get("replicas") or []
    if peers and not leader:
        yield fail("bus", f"{stream} has no leader: nothing is appended", "bring back the servers that are away")
    elif lead and leader:
        others = ", ".join(sorted(str(peer.get("name", "?")) for peer in peers))
        yield ok("bus", f"leader of {stream}: {leader}" + (f"; copies on {others}" if others else ""))
    for peer in peers:
        name = peer.get("name", "?")
        if peer.get("offline"):
            yield warn("bus", f"{stream}: its copy on {name} is away", "start that server again")
        elif not peer.get("current"):
            yield warn(
                "bus", f"{stream}: its copy on {name} is {peer.get('lag', '?')} messages behind", "let it catch up"
            )


async def _clocks(bus: JetStreamBus) -> AsyncIterator[Finding]:
    """The clock of the history's leader, over the bus; each server's, where its monitoring address is named."""

    async def leader() -> datetime:
        return instant((await bus.wire.api(f"STREAM.INFO.{history_stream(bus.generation)}"))["ts"])

    try:
        yield clocks.finding("bus", "its", await clocks.asked(leader), STEP_CLOCKS)
    except (StreamError, KeyError, ValueError) as error:
        yield warn("bus", f"its clock cannot be read: {error}")
    for address in bus.wire.settings.monitoring_urls:

        async def server(address: str = address) -> datetime:
            return instant((await read_monitor(address, "varz"))["now"])

        try:
            yield clocks.finding("bus", f"{address}: its", await clocks.asked(server), STEP_CLOCKS)
        except (BusUnreachableError, KeyError, ValueError):
            continue  # an address that gives no answer was told by the check


async def _rights(bus: JetStreamBus, settings: Settings, *, single: bool) -> AsyncIterator[Finding]:
    """What the present credentials may do, told plainly."""
    rights = await rights_of(bus, tenant=settings.tenant.value, actor=settings.actor)
    yield ok("bus", f"these credentials may: {', '.join(rights.may) or 'nothing of it'}")
    if rights.may_not:
        yield ok("bus", f"these credentials may not: {', '.join(rights.may_not)}")
    if rights.unclear:
        yield warn("bus", f"no answer says whether these credentials may: {', '.join(rights.unclear)}")
    if MAKE_STREAMS in rights.may and not single:
        yield warn("bus", "these credentials are an admin's", "keep them for dispatch setup; setup --print-permissions")


async def _answers(bus: JetStreamBus) -> AsyncIterator[Finding]:
    """How quick it is, who is alive, and whether commands pile up."""
    began = time.monotonic()
    try:
        replicas = await bus.buckets.replicas()
        took_ms = (time.monotonic() - began) * 1000
        waiting = await bus.commands.waiting()
    except NotPermittedError as error:
        yield warn("bus", f"the credentials do not show replicas and queues: {error}")
        return
    except StreamError as error:
        yield fail("bus", f"a read failed: {error}")
        return
    yield ok("bus", f"a read took {took_ms:.1f} ms")
    if replicas:
        yield ok("bus", f"live supervisors: {', '.join(sorted(replicas))}")
    else:
        yield warn("bus", "no supervisor is live: nothing is decided", "dispatch supervise")
    if waiting:
        level = warn if not replicas else ok
        yield level("bus", f"{waiting} command{'s' if waiting != 1 else ''} on the bus wait for a supervisor")
