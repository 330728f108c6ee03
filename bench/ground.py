"""A real server that was set up, and histories put on it as fast as it takes them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import nats
from nats.aio.client import Client

from streams.jetstream.layout import Layout
from streams.jetstream.settings import BusSettings
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from tests.servers.nats import NatsNode, one_node

INSTALLATION = "bench"
LEASE_S = 1.0
SHARDS = 8
IN_FLIGHT = 256


@asynccontextmanager
async def ground(*, sync: str = "always") -> AsyncIterator[NatsNode]:
    """A server of one node with every stream, in a directory that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="dispatch-bench-") as directory:
        async with one_node(Path(directory), sync=sync) as node:
            wire = Wire(settings_of(node))
            await wire.connect()
            await setup(wire, Layout(installation=INSTALLATION, replicas=1, shards=SHARDS, lease_s=LEASE_S))
            await wire.close()
            yield node


def settings_of(node: NatsNode) -> BusSettings:
    return BusSettings(urls=(node.url,), monitoring_urls=(node.monitoring_url,), name="dispatch-bench")


@asynccontextmanager
async def bare_client(node: NatsNode) -> AsyncIterator[Client]:
    """A connection of nats-py alone."""
    client = await nats.connect(node.url)
    try:
        yield client
    finally:
        await client.close()


async def put_all(node: NatsNode, messages: Iterable[tuple[str, bytes]]) -> None:
    """Store the messages in order; wait for the server every so often, so that none is lost."""
    async with bare_client(node) as client:
        stream = client.jetstream()
        for number, (subject, data) in enumerate(messages, start=1):
            if number % IN_FLIGHT:
                await client.publish(subject, data)
            else:
                await stream.publish(subject, data)
        await client.flush()
        await asyncio.sleep(0)
