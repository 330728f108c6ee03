"""`dispatch supervise`: one replica as a process, from the start-up check to the end of its drain.

Run by the command line, and by `dispatch up` as `python -m dispatch.supervise FILE` with its options in a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import structlog

from adapters.local.adapter import LocalAdapter
from adapters.port import Adapter
from adapters.remote.client import RemoteAdapter
from dispatch import identity, packages
from dispatch.exposition import exposed
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from streams import subjects
from streams.errors import BusUnreachableError, NotPermittedError, SettingsError, WrongStreamError
from streams.jetstream.check import Profile, check
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.settings import BusSettings

OK, FAULT, BAD_USAGE, NOT_PERMITTED, UNSAFE = 0, 1, 2, 5, 6

log = structlog.get_logger("dispatch.supervise")


class SuperviseOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica is told. `local`: state directory of the local adapter to serve in this process.

    `clusters` None: every cluster; those without an adapter here are reached through their agents. `metrics`: HOST:PORT
    to serve Prometheus metrics on.
    """

    nats: tuple[str, ...]
    creds: str | None = None
    tls_ca: str | None = None
    inbox_prefix: str | None = None
    monitoring: tuple[str, ...] = ()
    single: bool = False
    name: str | None = None
    clusters: tuple[str, ...] | None = None
    local: str | None = None
    observe: bool = False
    drain_s: float = 20.0
    sweep_s: float = 300.0
    heartbeat_s: float = 5.0
    metrics: str | None = None
    log_json: bool = False
    verbose: bool = False


def configure_logs(options: SuperviseOptions) -> None:
    """Structured lines on stderr, each with its time and level."""
    renderer = structlog.processors.JSONRenderer() if options.log_json else structlog.dev.ConsoleRenderer(colors=False)
    level = logging.DEBUG if options.verbose else logging.INFO
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )


def bus_settings(options: SuperviseOptions) -> BusSettings:
    return BusSettings(
        urls=options.nats,
        name=f"dispatch-supervise {options.name or ''}".strip(),
        creds=Path(options.creds) if options.creds else None,
        tls_ca=Path(options.tls_ca) if options.tls_ca else None,
        inbox_prefix=options.inbox_prefix or "_INBOX",
        monitoring_urls=options.monitoring,
    )


@contextlib.asynccontextmanager
async def ready(options: SuperviseOptions) -> AsyncIterator[JetStreamBus]:
    """A bus whose settings were read back and are safe, for one replica; closed at the end. Nothing was done before.

    Raises BusUnreachableError, NotPermittedError, SettingsError, and ValueError for a cluster's name that is none.
    """
    for name in options.clusters or ():
        subjects.check_token(name, "cluster")
    bus = await connect(bus_settings(options))
    try:
        await check(bus, Profile.SINGLE if options.single else Profile.PRODUCTION)
        yield bus
    finally:
        await bus.close()


async def work(bus: JetStreamBus, options: SuperviseOptions) -> None:
    """Run one replica until SIGTERM or SIGINT, its drain included.

    Raises AddressError before anything is done, where metrics cannot be served as they should be; BusClosedError or
    WrongStreamError when the bus, or its history, is gone for this replica.
    """
    replica = Replica(bus, _clusters(bus, options), _settings(bus, options))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, replica.stop)
    with exposed(replica.metrics.registry, options.metrics) as port:
        if port is not None:
            log.info("metrics", port=port)
        telling = asyncio.create_task(tell_when_caught_up(replica))
        try:
            await replica.run()
        finally:
            telling.cancel()


async def supervise(options: SuperviseOptions) -> int:
    """Run one replica as `dispatch up` does: what ends it is a line of its log; the process's exit code.

    6 when the bus is away or its settings are unsafe, 5 without the right, 2 when metrics cannot be served where they
    should be or a cluster's name is none.
    """
    try:
        async with ready(options) as bus:
            await work(bus, options)
    except (BusUnreachableError, SettingsError, WrongStreamError) as error:
        return _refuse(UNSAFE, error)
    except NotPermittedError as error:
        return _refuse(NOT_PERMITTED, error)
    except ValueError as error:
        return _refuse(BAD_USAGE, error)
    return OK


def _refuse(code: int, error: Exception) -> int:
    for sentence in getattr(error, "differences", (str(error),)):
        log.error("will not run", why=sentence)
    return code


async def tell_when_caught_up(replica: Replica) -> None:
    """One log line once every open job is known: how many, in how many seconds, and for which shards we come first."""
    begun = time.perf_counter()
    await replica.open_jobs.complete.wait()
    shards = () if replica.settings.observe else range(replica.bus.shards)
    log.info(
        "caught up",
        replica=replica.settings.name,
        first_for_shards=ranges([shard for shard in shards if replica.rank(shard) == 0]),
        open_jobs=len(replica.open_jobs.open),
        folded_in_s=round(time.perf_counter() - begun, 1),
    )


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in a few words: `0-2,7`; `none` for none."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "none"


def _settings(bus: JetStreamBus, options: SuperviseOptions) -> ReplicaSettings:
    return ReplicaSettings(
        name=options.name or identity.replica_name(),
        installation=bus.layout.installation,
        lease_s=bus.layout.lease_s,
        heartbeat_s=options.heartbeat_s,
        drain_s=options.drain_s,
        sweep_s=options.sweep_s,
        observe=options.observe,
    )


def _clusters(bus: JetStreamBus, options: SuperviseOptions) -> Clusters:
    given: dict[str, Adapter] = {}
    if options.local is not None:
        adapter = LocalAdapter(Path(options.local))
        given[adapter.settings.cluster] = adapter

    def remote(cluster: str) -> Adapter:
        return RemoteAdapter(bus.wire.client, cluster)

    return Clusters(given, remote, only=options.clusters)


def main() -> int:
    """`python -m dispatch.supervise FILE`: options as JSON in a file. Exit codes as the command line's."""
    packages.check_packages()
    options = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=SuperviseOptions)
    configure_logs(options)
    return asyncio.run(supervise(options))


if __name__ == "__main__":
    sys.exit(main())
