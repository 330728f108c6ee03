"""What is wrong with a bus or a cluster, and what to do: one finding a line, `ok`, `warn` or `FAIL`.

Reads only, but for the probe, which makes one gated object and stops it: nothing of it ever runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec

from dispatch.bus_findings import of_bus
from dispatch.cluster_findings import of_agent, of_local
from dispatch.config import ConfigError, Settings
from dispatch.findings import Finding, fail, ok
from streams.errors import BusUnreachableError, NotPermittedError, SettingsError, StreamError
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.settings import BusSettings

NEEDED_CONFIG = """\
# nats-server, each of three on a machine and a disk of its own
http: 127.0.0.1:8222                    # so that the settings can be read back
jetstream {
  store_dir: /data
  sync_interval: always                 # else a power cut loses acknowledged events
}"""
BUS, LOCAL = "bus", "local"


class _Beat(msgspec.Struct, frozen=True, kw_only=True):
    """Of a replica's heartbeat: the clusters that it serves."""

    clusters: dict[str, str | None] = {}


async def examine(settings: Settings, parts: Sequence[str], *, single: bool, probe: bool) -> tuple[Finding, ...]:
    """Every finding of these parts: `bus`, `local`, or a cluster by name. None named: all that can be seen from here.

    Never raises for what it finds; ConfigError when a bus is needed and none is named at all.
    """
    findings: list[Finding] = []
    everything = not parts
    here = settings.local_dir
    if everything or any(part == BUS or (part != LOCAL or _by_agent(settings)) for part in parts):
        single = single or here is not None
        findings += [each async for each in _over_the_bus(settings, parts, single=single)]
    if here is not None and (everything or LOCAL in parts):
        findings += [each async for each in of_local(here, probe=probe)]
    elif LOCAL in parts and not _by_agent(settings):
        findings.append(ok(LOCAL, "no dispatch up runs here: nothing to look at"))
    return tuple(findings)


def _by_agent(settings: Settings) -> bool:
    """Whether `local` is not this machine's cluster but one of that name on the bus."""
    return settings.local_dir is None and settings.address is not None


async def _over_the_bus(settings: Settings, parts: Sequence[str], *, single: bool) -> AsyncIterator[Finding]:
    try:
        bus = await connect(_bus_settings(settings))
    except BusUnreachableError as error:
        yield fail(BUS, str(error), "check the servers: dispatch context show")
        return
    except NotPermittedError as error:
        yield fail(BUS, f"the credentials do not allow to read it: {error}", "ask who gave them out")
        return
    except SettingsError as error:
        for sentence in error.differences:
            yield fail(BUS, sentence, "dispatch setup")
        return
    try:
        if not parts or BUS in parts:
            async for each in of_bus(bus, settings, single=single):
                yield each
        for cluster in [part for part in parts if part != BUS] if parts else await _clusters(bus, settings):
            if cluster != LOCAL or settings.local_dir is None:
                async for each in of_agent(bus, cluster, named=bool(parts)):
                    yield each
    finally:
        await bus.close()


async def _clusters(bus: JetStreamBus, settings: Settings) -> list[str]:
    """Every cluster that the settings or a live replica name."""
    named = {settings.cluster.value} - {None}
    try:
        beats = await bus.buckets.replicas()
    except StreamError:
        beats = {}
    for data in beats.values():
        try:
            named |= msgspec.json.decode(data, type=_Beat).clusters.keys()
        except msgspec.DecodeError:
            continue
    return sorted(name for name in named if name is not None)


def _bus_settings(settings: Settings) -> BusSettings:
    address = settings.bus()
    return BusSettings(
        urls=address.urls,
        name="dispatch-doctor",
        creds=address.creds,
        tls_ca=address.tls_ca,
        inbox_prefix=address.inbox_prefix or "_INBOX",
        monitoring_urls=address.monitoring,
        connect_within_s=5.0,
        read_within_s=5.0,
    )


__all__ = ["NEEDED_CONFIG", "ConfigError", "Finding", "examine"]
