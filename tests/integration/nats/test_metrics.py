"""`supervise --metrics` and `agent --metrics`, as programs on a real bus: what a scrape reads, and orderly ends."""

from __future__ import annotations

import asyncio
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.errors import UnreachableError
from adapters.remote.client import RemoteAdapter
from dispatch.client import AsyncClient
from streams.jetstream.connect import connect
from streams.jetstream.server import free_port
from streams.messages.spec import JobSpec, Run
from tests.conformance.streams_world import JetStreamWorld
from tests.servers.nats import NatsNode

DISPATCH = str(Path(sys.executable).with_name("dispatch"))
WITHIN_S = 60.0


@asynccontextmanager
async def program(node: NatsNode, directory: Path, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The installed program at work; told to end at the end, which it does with exit 0."""
    directory.mkdir()
    child = await asyncio.create_subprocess_exec(
        DISPATCH, *words, "--nats", node.url, cwd=directory, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGTERM)
        await child.communicate()
    assert child.returncode == 0


async def answers(adapter: RemoteAdapter) -> None:
    """Wait until the cluster's agent answers."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            try:
                await adapter.capabilities()
            except UnreachableError:
                await asyncio.sleep(0.1)  # waits: a program that starts
            else:
                return


async def scraped(port: int, wanted: str) -> str:
    """What is served on the port once it says what is wanted."""
    read = ""
    async with asyncio.timeout(WITHIN_S):
        while wanted not in read:
            await asyncio.sleep(0.1)  # waits: a program at work
            try:
                read = await asyncio.to_thread(_read, port)
            except urllib.error.URLError:
                continue
    return read


def _read(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return str(answer.read().decode())


async def test_a_job_is_counted_by_the_supervisor_that_decided_and_the_agent_that_was_called(
    world: JetStreamWorld, tmp_path: Path
) -> None:
    node = world.node
    assert isinstance(node, NatsNode)
    first, second = free_port(), free_port()
    bus = await connect(world.settings)
    client = AsyncClient(bus, tenant="nlp", actor="ana", timeout_s=30.0)
    supervise = ("supervise", "--single", "--monitoring", node.monitoring_url, "--name", "sv-a", "--log-json")
    async with (
        program(node, tmp_path / "a", "agent", "local", "--cluster", "rig", "--metrics", f"127.0.0.1:{first}"),
        program(node, tmp_path / "s", *supervise, "--metrics", f"127.0.0.1:{second}"),
    ):
        await answers(RemoteAdapter(bus.wire.client, "rig"))
        await client.submit("llama", JobSpec(cluster="rig", run=Run(command=("true",))))
        replica = await scraped(second, 'dispatch_calls_total{cluster="rig",outcome="done",verb="open"} 1.0')
        agent = await scraped(first, 'dispatch_agent_requests_total{cluster="rig",outcome="done",verb="open"} 1.0')
    await bus.close()
    assert 'dispatch_commands_total{answer="accepted",verb="submit"} 1.0' in replica
    assert 'dispatch_info{replica="sv-a"' in replica
    assert 'dispatch_agent_requests_total{cluster="rig",outcome="done",verb="start"} 1.0' in agent


async def test_an_address_that_is_none_ends_a_supervisor_before_it_takes_work(
    world: JetStreamWorld, tmp_path: Path
) -> None:
    node = world.node
    assert isinstance(node, NatsNode)
    child = await asyncio.create_subprocess_exec(
        *(DISPATCH, "supervise", "--single", "--nats", node.url, "--monitoring", node.monitoring_url),
        *("--metrics", "9100"),
        cwd=tmp_path,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await child.communicate()
    assert child.returncode == 2
    assert b"'9100' is no HOST:PORT" in said
