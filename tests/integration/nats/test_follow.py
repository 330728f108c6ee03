from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streams.errors import BusClosedError
from streams.jetstream.connect import BusSettings, connect
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from streams.messages.events import Entry
from streams.ports import Bus, Caught
from tests.conformance.streams_world import LAYOUT, JetStreamWorld, an_event, take_until, write
from tests.servers.nats import NatsNode, one_node

EVENTS = 600


def revisions(items: list[Entry | Caught]) -> list[int]:
    return [item.revision for item in items if isinstance(item, Entry)]


async def keep_writing(bus: Bus, count: int) -> None:
    for number in range(count):
        await bus.history.append(an_event(number, expected=number))


@pytest.mark.parametrize("crash", ["kill", "restart", "stall"])
async def test_a_follower_misses_nothing_and_repeats_nothing_through_faults_of_the_server(
    world: JetStreamWorld, node: NatsNode, crash: str
) -> None:
    follower, writer = await world.connect(), await world.connect()
    writing = asyncio.create_task(keep_writing(writer, EVENTS))
    items = follower.history.follow()
    seen = await take_until(items, lambda taken: len(revisions(taken)) >= 50)
    if crash == "stall":
        node.pause()
        await asyncio.sleep(4)  # waits: longer than two missing heartbeats
        node.resume()
    else:
        node.kill() if crash == "kill" else node.stop()
        await node.start()
    seen += await take_until(items, lambda taken: EVENTS in revisions(taken))
    await writing
    assert revisions(seen) == list(range(1, EVENTS + 1))


async def test_a_slow_follower_gets_everything(world: JetStreamWorld) -> None:
    bus = await world.connect()
    await write(bus, 5000)
    seen: list[int] = []
    async for item in bus.history.follow():
        if isinstance(item, Caught):
            break
        seen.append(item.revision)
        if len(seen) % 500 == 0:
            await asyncio.sleep(0.05)  # waits: the slowness itself
    assert seen == list(range(1, 5001))


async def test_a_follower_that_may_not_make_consumers_reads_by_gets(tmp_path: Path) -> None:
    users = """
    authorization { users: [
      { user: admin, password: x }
      { user: reader, password: x, permissions: {
          publish: ["$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.*", "$JS.API.DIRECT.GET.>"] } } ] }
    """
    async with one_node(tmp_path, more=users) as node:
        settings = BusSettings(urls=(node.url.replace("//", "//admin:x@"),))
        wire = Wire(settings)
        await wire.connect()
        await setup(wire, LAYOUT)
        await wire.close()
        writer = await connect(settings)
        reader = await connect(BusSettings(urls=(node.url.replace("//", "//reader:x@"),)))
        await write(writer, 3)
        items: AsyncIterator[Entry | Caught] = reader.history.follow()
        before = await take_until(items, lambda taken: isinstance(taken[-1], Caught))
        await write(writer, 2, first=4)
        after = await take_until(items, lambda taken: len(revisions(taken)) == 2)
        assert (revisions(before), revisions(after)) == ([1, 2, 3], [4, 5])
        await reader.close()
        await writer.close()


async def test_a_follower_whose_connection_is_closed_for_good_is_told(world: JetStreamWorld) -> None:
    bus = await world.connect()
    items = bus.history.follow()
    await take_until(items, lambda taken: len(taken) == 1)
    await bus.close()
    with pytest.raises(BusClosedError, match="closed for good"):
        await take_until(items, lambda taken: len(taken) < 0)
