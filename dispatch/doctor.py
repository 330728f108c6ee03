"""What is wrong with a bus or a local cluster, and what to do: one finding a line, `ok`, `warn` or `FAIL`.

Reads only, but for the probe, which makes one gated object and stops it: nothing of it ever runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from adapters.errors import AdapterError
from adapters.local.adapter import LocalAdapter
from dispatch import identity
from dispatch.config import ConfigError, Settings
from streams.errors import BusUnreachableError, NotPermittedError, SettingsError, StreamError
from streams.jetstream.check import Profile, ServerFacts, check
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.settings import BusSettings
from streams.messages.calls import JobName, StartCall, StopCall
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Floor, Tag

NEEDED_CONFIG = """\
# nats-server, each of three on a machine and a disk of its own
http: 127.0.0.1:8222                    # so that the settings can be read back
jetstream {
  store_dir: /data
  sync_interval: always                 # else a power cut loses acknowledged events
}"""
CLOCK_OFFSET_MAX_S = 1.0
PROBE_DEADLINE_S = 30.0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at. `level`: ok, warn or FAIL. `do`: what to change, "" where nothing is."""

    level: str
    part: str
    what: str
    do: str = ""


def ok(part: str, what: str) -> Finding:
    return Finding(level="ok", part=part, what=what)


def warn(part: str, what: str, do: str = "") -> Finding:
    return Finding(level="warn", part=part, what=what, do=do)


def fail(part: str, what: str, do: str = "") -> Finding:
    return Finding(level="FAIL", part=part, what=what, do=do)


async def examine(settings: Settings, parts: Sequence[str], *, single: bool, probe: bool) -> tuple[Finding, ...]:
    """Every finding of these parts. Never raises for what it finds; ConfigError when no bus is named at all."""
    findings: list[Finding] = []
    if "bus" in parts:
        findings += [each async for each in _bus(settings, single=single or settings.local_dir is not None)]
    if "local" in parts:
        findings += [each async for each in _local(settings.local_dir, probe=probe)]
    return tuple(findings)


async def _bus(settings: Settings, *, single: bool) -> AsyncIterator[Finding]:
    address = settings.bus()
    bus_settings = BusSettings(
        urls=address.urls,
        name="dispatch-doctor",
        creds=address.creds,
        tls_ca=address.tls_ca,
        inbox_prefix=address.inbox_prefix or "_INBOX",
        monitoring_urls=address.monitoring,
        connect_within_s=5.0,
        read_within_s=5.0,
    )
    try:
        bus = await connect(bus_settings)
    except BusUnreachableError as error:
        yield fail("bus", str(error), "check the servers: dispatch context show")
        return
    except NotPermittedError as error:
        yield fail("bus", f"the credentials do not allow to read it: {error}", "ask who gave them out")
        return
    except SettingsError as error:
        for sentence in error.differences:
            yield fail("bus", sentence, "dispatch setup")
        return
    try:
        async for each in _of_bus(bus, Profile.SINGLE if single else Profile.PRODUCTION):
            yield each
    finally:
        await bus.close()


async def _of_bus(bus: JetStreamBus, profile: Profile) -> AsyncIterator[Finding]:
    layout = bus.layout
    try:
        servers = await check(bus, profile)
    except SettingsError as error:
        for sentence in error.differences:
            yield fail("bus", sentence, "dispatch doctor bus --print-fix")
    except StreamError as error:
        yield fail("bus", f"its settings cannot be read: {error}")
    else:
        for each in _of_servers(servers):
            yield each
        copies = "1 copy" if layout.replicas == 1 else f"{layout.replicas} copies"
        yield ok("bus", f"streams, buckets and consumers are as they must be: {copies}")
    yield ok("bus", f"history generation {bus.generation}, {layout.shards} shards, lease {layout.lease_s:g}s")
    async for each in _answers(bus):
        yield each


def _of_servers(servers: Sequence[ServerFacts]) -> Iterator[Finding]:
    versions = sorted({server.version for server in servers})
    yield ok("bus", f"{len(servers)} server{'s' if len(servers) != 1 else ''} {', '.join(versions)}, sync always")
    if len(versions) > 1:
        yield warn("bus", f"servers are of {len(versions)} versions", "bring them to one")


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


async def _local(folder: Path | None, *, probe: bool) -> AsyncIterator[Finding]:
    if folder is None:
        yield ok("local", "no dispatch up runs here: nothing to look at")
        return
    try:
        adapter = LocalAdapter(folder)
        able = await adapter.capabilities()
    except (AdapterError, ValueError) as error:
        yield fail("local", str(error))
        return
    yield ok("local", f"{adapter.settings.slots} slots in {folder}")
    yield ok("local", f"CallBound {able.call_bound_s:g}s · proof that processes are gone: {_yes(able.cessation)}")
    for each in _of_machine():
        yield each
    name = JobName(installation="doctor", tenant="doctor", job=f"probe-{os.getpid()}")
    try:
        found = await adapter.find(name)
    except AdapterError as error:
        yield fail("local", f"its host does not answer: {error}", "dispatch up")
        return
    yield _clock(found.as_of)
    if probe:
        yield await _probed(adapter, name)


def _yes(flag: bool) -> str:  # noqa: FBT001  a word for a fact
    return "yes" if flag else "no"


def _of_machine() -> Iterator[Finding]:
    """What the local cluster needs of Linux."""
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        yield ok("local", "cgroup v2 is there; out-of-memory is told by its event where a group can be made")
    else:
        yield warn("local", "no cgroup v2: out-of-memory is told only by the measured limit of a job's own")


def _clock(as_of: datetime) -> Finding:
    """The host's clock never goes back, so it may run ahead of one that was set back."""
    offset_s = abs((datetime.now(UTC) - as_of).total_seconds())
    if offset_s > CLOCK_OFFSET_MAX_S:
        return warn(
            "local", f"its clock is {offset_s:.1f}s from this process's", "was the clock set back? it catches up"
        )
    return ok("local", f"its clock is within {offset_s * 1000:.0f} ms of this process's")


async def _probed(adapter: LocalAdapter, name: JobName) -> Finding:
    """One object made gated, found and stopped. Nothing of it runs."""
    nonce = identity.new_event_id()
    tag = Tag(
        installation=name.installation,
        tenant=name.tenant,
        job=name.job,
        submission=1,
        attempt=1,
        revision=1,
        nonce=nonce,
    )
    deadline_at = datetime.now(UTC) + timedelta(seconds=PROBE_DEADLINE_S)
    pair = Floor(revision=1, nonce=nonce)
    spec = JobSpec(cluster="local", run=Run(command=("true",)))
    try:
        ref = await adapter.start(StartCall(name=name, call=1, deadline_at=deadline_at, pair=pair, tag=tag, spec=spec))
        shown = await adapter.find(name)
        await adapter.stop(StopCall(name=name, call=2, deadline_at=deadline_at, pair=pair, object=ref))
    except (TimeoutError, AdapterError) as error:
        return fail("local", f"the probe failed: {error}")
    phases = [seen.phase.value for seen in shown.sightings if seen.object == ref]
    if phases != ["gated"]:
        return fail("local", f"the probe's object is {', '.join(phases) or 'not found'}, must be gated")
    return ok("local", f"probe: object {ref.id} made gated, found, stopped")


__all__ = ["NEEDED_CONFIG", "ConfigError", "Finding", "examine"]
