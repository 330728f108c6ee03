"""The start-up check: every setting that safety rests on, read back from the servers.

A process that may decide anything runs this first and refuses to run on a difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from streams.errors import BusUnreachableError, SettingsError
from streams.jetstream.connect import JetStreamBus
from streams.jetstream.layout import SERVER_VERSION_MIN, consumers_of, differences, streams_of
from streams.jetstream.monitor import read_monitor
from streams.jetstream.setup import find_consumer, find_stream

REPLICAS_MIN = 3

_VERSION = re.compile(r"v?(\d+)\.(\d+)")


class Profile(StrEnum):
    """How much must be there: `production` three servers, `single` one, as `dispatch up` makes."""

    PRODUCTION = "production"
    SINGLE = "single"


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one server says of itself on its monitoring port."""

    name: str
    version: str
    sync_always: bool
    cluster_size: int


async def check(bus: JetStreamBus, profile: Profile) -> tuple[ServerFacts, ...]:
    """The servers' facts, if everything is as it must be. Raises SettingsError, one sentence a difference."""
    servers, wrong = await _read_servers(bus.wire.settings.monitoring_urls)
    wrong = [*wrong, *server_differences(servers, profile), *await stream_differences(bus, profile)]
    if wrong:
        raise SettingsError(tuple(wrong))
    return servers


def server_differences(servers: Sequence[ServerFacts], profile: Profile) -> list[str]:
    """What is wrong with the servers themselves: version, syncing, number."""
    wrong: list[str] = []
    for server in servers:
        if not server.sync_always:
            wrong.append(f"{server.name}: sync_interval must be always; else a power cut loses acknowledged events")
        if _older(server.version):
            wrong.append(f"{server.name}: version is {server.version}, must be {_least()} or newer")
    size = max((server.cluster_size for server in servers), default=0)
    if servers and len({server.name for server in servers}) < size:
        wrong.append(f"monitoring addresses: {len(servers)} of {size} servers are named, must be all")
    if profile is Profile.PRODUCTION and servers and size < REPLICAS_MIN:
        wrong.append(f"servers: there are {size}, must be {REPLICAS_MIN} or more (profile single allows one)")
    return wrong


async def stream_differences(bus: JetStreamBus, profile: Profile) -> list[str]:
    """What is wrong with streams, buckets and consumers."""
    wrong: list[str] = []
    if profile is Profile.PRODUCTION and bus.layout.replicas < REPLICAS_MIN:
        wrong.append(f"history: replicas is {bus.layout.replicas}, must be {REPLICAS_MIN} (profile single allows one)")
    if bus.server_version[:2] < SERVER_VERSION_MIN:
        version = ".".join(map(str, bus.server_version))
        wrong.append(f"server: version is {version}, must be {_least()} or newer")
    for wanted in streams_of(bus.layout, bus.generation):
        wanted.pop("max_bytes")  # an operator's choice
        actual = await find_stream(bus.wire, wanted["name"])
        wrong += [f"{wanted['name']}: is missing"] if actual is None else differences(wanted["name"], wanted, actual)
    for stream, wanted in consumers_of(bus.layout):
        name = wanted["durable_name"]
        actual = await find_consumer(bus.wire, stream, name)
        missing = (f"{stream}/{name}: is missing",)
        wrong += missing if actual is None else differences(f"{stream}/{name}", wanted, actual)
    return wrong


async def _read_servers(addresses: Sequence[str]) -> tuple[tuple[ServerFacts, ...], list[str]]:
    if not addresses:
        return (), ["monitoring addresses: none is set, so sync_interval cannot be checked"]
    servers: list[ServerFacts] = []
    wrong: list[str] = []
    for address in addresses:
        try:
            servers.append(_facts(await read_monitor(address, "varz")))
        except (BusUnreachableError, ValueError) as error:
            wrong.append(f"monitoring address: {error}")
    return tuple(servers), wrong


def _facts(varz: dict[str, Any]) -> ServerFacts:
    jetstream = varz.get("jetstream") or {}
    return ServerFacts(
        name=str(varz.get("server_name", "?")),
        version=str(varz.get("version", "0.0")),
        sync_always=(jetstream.get("config") or {}).get("sync_always") is True,
        cluster_size=int((jetstream.get("meta") or {}).get("cluster_size", 1)),
    )


def _older(version: str) -> bool:
    found = _VERSION.match(version)
    return found is None or (int(found.group(1)), int(found.group(2))) < SERVER_VERSION_MIN


def _least() -> str:
    return ".".join(str(part) for part in SERVER_VERSION_MIN)
