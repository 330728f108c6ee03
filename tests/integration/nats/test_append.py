from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams.errors import (
    BusUnreachableError,
    ConflictError,
    NotPermittedError,
    StreamFullError,
    UndecidedError,
    WrongStreamError,
)
from streams.jetstream.append import Append, condition
from streams.jetstream.connect import BusSettings, JetStreamBus, connect
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from tests.conformance.streams_world import LAYOUT, JetStreamWorld, an_event, until, write
from tests.servers.nats import NatsNode, one_node


async def impatient(world: JetStreamWorld) -> JetStreamBus:
    """A replica that waits a second for an answer, not thirty."""
    bus = await connect(
        BusSettings(urls=(world.node.url,), append_within_s=1.0, request_within_s=0.3, publish_within_s=1.0)
    )
    world.buses.append(bus)
    return bus


async def revisions(bus: JetStreamBus) -> list[int]:
    return [entry.revision for entry in await bus.history.read("nlp", "llama")]


def test_a_condition_is_never_empty_or_misspelled() -> None:
    assert condition("DISPATCH_HISTORY_1", 0) == {
        "Nats-Expected-Last-Subject-Sequence": "0",
        "Nats-Expected-Stream": "DISPATCH_HISTORY_1",
    }
    for wrong in (-1, "", "abc", None):
        with pytest.raises((ValueError, TypeError)):
            condition("DISPATCH_HISTORY_1", wrong)  # type: ignore[arg-type]


async def test_an_answer_that_does_not_come_leaves_the_append_undecided(world: JetStreamWorld, node: NatsNode) -> None:
    bus = await impatient(world)
    node.pause()
    with pytest.raises(UndecidedError) as told:
        await bus.history.append(an_event(1))
    node.resume()
    assert told.value.event_id == an_event(1).id


async def test_an_undecided_append_that_was_stored_is_recognised_when_it_is_made_again(
    world: JetStreamWorld, node: NatsNode
) -> None:
    bus = await impatient(world)
    node.pause()
    with pytest.raises(UndecidedError):
        await bus.history.append(an_event(1))
    node.resume()
    patient = await world.connect()
    assert await patient.history.append(an_event(1)) == 1
    (stored,) = await until(lambda: revisions(bus), lambda found: len(found) > 0)
    assert stored == 1


async def test_a_stalled_server_that_recovers_in_time_is_waited_for(world: JetStreamWorld, node: NatsNode) -> None:
    bus = await world.connect()
    node.pause()
    append = asyncio.create_task(bus.history.append(an_event(1)))
    await asyncio.sleep(2.5)  # waits: longer than one request, so that the append is tried again
    assert not append.done()
    node.resume()
    assert await append == 1
    assert len(await bus.history.read("nlp", "llama")) == 1


async def test_of_two_undecided_writers_the_one_that_was_not_stored_learns_of_the_conflict(
    world: JetStreamWorld, node: NatsNode
) -> None:
    one, other = await world.connect(), await world.connect()
    node.pause()
    appends = [asyncio.create_task(bus.history.append(an_event(number))) for number, bus in ((1, one), (2, other))]
    await asyncio.sleep(2.5)  # waits: longer than one request, so that both are tried again
    node.resume()
    answers = await asyncio.gather(*appends, return_exceptions=True)
    assert sorted(str(type(answer).__name__) for answer in answers) == ["ConflictError", "int"]
    assert len(await one.history.read("nlp", "llama")) == 1


async def test_a_cancelled_append_may_be_stored_and_is_found_by_its_id(world: JetStreamWorld, node: NatsNode) -> None:
    bus = await world.connect()
    node.pause()
    append = asyncio.create_task(bus.history.append(an_event(1)))
    await asyncio.sleep(0.2)  # waits: the bytes must have left
    append.cancel()
    with pytest.raises(asyncio.CancelledError):
        await append
    node.resume()
    assert await bus.history.append(an_event(1)) == 1


async def test_an_append_on_a_connection_that_is_closed_ends_undecided_and_not_after_its_time(
    world: JetStreamWorld, node: NatsNode
) -> None:
    bus = await connect(BusSettings(urls=(node.url,), append_within_s=3600))
    node.pause()
    append = asyncio.create_task(bus.history.append(an_event(1)))
    await asyncio.sleep(0.2)  # waits: the bytes must have left
    await bus.close()
    with pytest.raises(UndecidedError):
        await append
    node.resume()


async def test_nothing_was_sent_when_there_is_no_connection(world: JetStreamWorld, node: NatsNode) -> None:
    bus = await impatient(world)
    node.stop()
    await until(lambda: _connected(bus), lambda connected: not connected)
    with pytest.raises(BusUnreachableError):
        await bus.history.append(an_event(1))
    with pytest.raises(BusUnreachableError):
        await bus.wakeups.wake("nlp", "llama")
    await node.start()
    patient = await world.connect()
    assert await patient.history.read("nlp", "llama") == ()


async def _connected(bus: JetStreamBus) -> bool:
    return bool(bus.wire.client.is_connected)


async def test_a_connection_comes_back_by_itself_after_a_crash_of_the_server(
    world: JetStreamWorld, node: NatsNode
) -> None:
    bus = await world.connect()
    await write(bus, 3)
    node.kill()
    append = asyncio.create_task(bus.history.append(an_event(4, expected=3)))
    await node.start()
    assert await append == 4
    assert [entry.revision for entry in await bus.history.read("nlp", "llama")] == [1, 2, 3, 4]


async def test_an_append_that_names_another_generation_is_refused(world: JetStreamWorld) -> None:
    bus = await world.connect()
    assert isinstance(bus, JetStreamBus)
    with pytest.raises(WrongStreamError):
        await Append(bus.wire, "DISPATCH_HISTORY_7", an_event(1), replicated=False).run()
    assert await bus.history.read("nlp", "llama") == ()


async def test_a_full_history_says_so_and_stores_nothing(node: NatsNode) -> None:
    wire = Wire(BusSettings(urls=(node.url,)))
    await wire.connect()
    await setup(wire, LAYOUT)
    config = (await wire.api("STREAM.INFO.DISPATCH_HISTORY_1"))["config"]
    await wire.api("STREAM.UPDATE.DISPATCH_HISTORY_1", {**config, "max_bytes": 2000})
    await wire.close()
    bus = await connect(BusSettings(urls=(node.url,)))
    with pytest.raises(StreamFullError):
        await write(bus, 100)
    entries = await bus.history.read("nlp", "llama")
    assert [entry.revision for entry in entries] == list(range(1, len(entries) + 1))
    assert 1 < len(entries) < 100
    await bus.close()


async def test_a_missing_permission_is_told_at_once_and_not_as_a_time_out(tmp_path: Path) -> None:
    users = """
    authorization { users: [
      { user: admin, password: x }
      { user: reader, password: x, permissions: {
          publish: ["$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.*", "$JS.API.DIRECT.GET.>"] } } ] }
    """
    async with one_node(tmp_path, more=users) as node:
        wire = Wire(BusSettings(urls=(node.url.replace("//", "//admin:x@"),)))
        await wire.connect()
        await setup(wire, LAYOUT)
        await wire.close()
        bus = await connect(BusSettings(urls=(node.url.replace("//", "//reader:x@"),), request_within_s=60))
        with pytest.raises(NotPermittedError, match=r"publish to dispatch\.job\.nlp\.llama"):
            await bus.history.append(an_event(1))
        with pytest.raises(NotPermittedError):
            await bus.wakeups.wake("nlp", "llama")
        assert await bus.history.read("nlp", "llama") == ()
        await bus.close()


async def test_a_conflict_with_an_event_that_is_not_ours_stays_one_after_a_crash(
    world: JetStreamWorld, node: NatsNode
) -> None:
    one, other = await world.connect(), await world.connect()
    await one.history.append(an_event(1))
    node.kill()
    await node.start()
    with pytest.raises(ConflictError):
        await other.history.append(an_event(2))
