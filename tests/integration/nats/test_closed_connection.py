"""A connection that the server ends for good: whoever lives on it ends too, with an error, to be started again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster
from dispatch.agent import AgentOptions, serve
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from streams.errors import BusClosedError
from streams.jetstream.connect import BusSettings, connect
from tests.conformance.streams_world import LAYOUT, JetStreamWorld

WITHIN_S = 60.0


class Between:
    """Stands before a server, passes every byte on, and can say what a server says when a user's time is over."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._clients: list[asyncio.StreamWriter] = []

    async def start(self) -> BusSettings:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return BusSettings(urls=(f"nats://127.0.0.1:{port}",), receive_wait_s=0.5)

    async def stop(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    def expire(self) -> None:
        for client in self._clients:
            client.write(b"-ERR 'User Authentication Expired'\r\n")
            client.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection("127.0.0.1", self._port)
        self._clients.append(writer)
        await asyncio.gather(_pass_on(reader, requests), _pass_on(answers, writer))
        await asyncio.gather(requests.wait_closed(), writer.wait_closed(), return_exceptions=True)


async def _pass_on(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            to.write(data)
    to.close()


@pytest.fixture
async def between(world: JetStreamWorld) -> AsyncIterator[Between]:
    between = Between(world.node.port)  # type: ignore[attr-defined]  # a server of its own
    yield between
    await between.stop()


async def test_a_replica_whose_credentials_expire_ends_with_an_error_that_says_so(between: Between) -> None:
    bus = await connect(await between.start())
    cluster = SlurmAdapter(SlurmCluster(name="sim", clock=lambda: datetime.now(UTC)))
    settings = ReplicaSettings(name="sv-a", installation=LAYOUT.installation, lease_s=LAYOUT.lease_s, drain_s=0.5)
    replica = Replica(bus, Clusters({"sim": cluster}, None), settings)
    running = asyncio.create_task(replica.run())
    async with asyncio.timeout(WITHIN_S):
        await replica.open_jobs.complete.wait()
        between.expire()
        with pytest.raises(BusClosedError, match="authentication expired"):
            await running


async def test_an_agent_whose_credentials_expire_ends_with_an_error_that_says_so(
    between: Between, tmp_path: Path
) -> None:
    live = asyncio.Event()
    options = AgentOptions(cluster="lost", directory=tmp_path / "agent", attested_by="ana", reason="sold", drain_s=0.5)
    settings = await between.start()
    serving = asyncio.create_task(serve(settings, options, lambda _: live.set(), asyncio.Event()))
    async with asyncio.timeout(WITHIN_S):
        await live.wait()
        between.expire()
        with pytest.raises(BusClosedError, match="authentication expired"):
            await serving
