"""Is this service at work? `python -m dispatch.health supervisor|agent CLUSTER`: one line, exit 0 or 1.

For health checks of containers. It connects with the service's own credentials and asks the bus, not the process: a
supervisor is at work while a heartbeat that tells this host's name is in the bucket, an agent while its cluster is
answered for: of several agents of one cluster, by any of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from adapters.errors import AdapterError
from adapters.remote.client import RemoteAdapter
from dispatch import identity
from dispatch.config import ConfigError, Flags, resolve
from dispatch.replica import beat as beats
from streams.errors import StreamError
from streams.jetstream.connect import BusSettings, JetStreamBus, connect

WITHIN_S = 4.0
USAGE = "usage: python -m dispatch.health supervisor|agent CLUSTER"


async def supervisor(bus: JetStreamBus) -> str:
    """The replicas of this host whose heartbeats are in the bucket; "" if there is none."""
    return ", ".join(of_host(await bus.buckets.replicas(), identity.host()))


def of_host(held: Mapping[str, bytes], host: str) -> list[str]:
    """The names of the replicas whose heartbeats tell exactly this host."""
    return sorted(name for name, beat in beats.read(held).items() if beat is not None and beat.host == host)


async def agent(bus: JetStreamBus, cluster: str) -> str:
    """What the agent of this cluster answers. Raises AdapterError if it does not."""
    able = await RemoteAdapter(bus.wire.client, cluster, read_within_s=WITHIN_S).capabilities()
    return f"{cluster} answers: {able.kind}"


def main(words: Sequence[str]) -> int:
    """The exit code: 0 at work, 1 not, 2 bad usage."""
    asked: Callable[[JetStreamBus], Awaitable[str]]
    match list(words):
        case ["supervisor"]:
            asked = supervisor
        case ["agent", cluster]:
            asked = partial(agent, cluster=cluster)
        case _:
            sys.stderr.write(USAGE + "\n")
            return 2
    try:
        told = asyncio.run(_ask(asked))
    except (ConfigError, StreamError, AdapterError) as error:
        told, why = "", str(error)
    else:
        why = "no heartbeat of this host is in the bucket"
    sys.stdout.write(f"{told or why}\n")
    return 0 if told else 1


async def _ask(asked: Callable[[JetStreamBus], Awaitable[str]]) -> str:
    address = resolve(Flags(), os.environ, Path.cwd()).bus()
    settings = BusSettings(
        urls=address.urls,
        name="dispatch-health",
        creds=address.creds,
        tls_ca=address.tls_ca,
        inbox_prefix=address.inbox_prefix or "_INBOX",
        connect_within_s=WITHIN_S,
        read_within_s=WITHIN_S,
    )
    bus = await connect(settings)
    try:
        return await asked(bus)
    finally:
        await bus.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
