from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from streams.errors import NotPermittedError, SettingsError
from streams.jetstream.check import Profile, check
from streams.jetstream.connect import BusSettings, connect
from streams.jetstream.layout import Layout
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from tests.conformance.streams_world import LAYOUT, JetStreamWorld
from tests.servers.nats import NatsNode, one_node


@pytest.fixture
async def wire(node: NatsNode) -> AsyncIterator[Wire]:
    connection = Wire(BusSettings(urls=(node.url,)))
    await connection.connect()
    yield connection
    await connection.close()


async def changed(wire: Wire, stream: str, **settings: Any) -> None:
    config = (await wire.api(f"STREAM.INFO.{stream}"))["config"]
    await wire.api(f"STREAM.UPDATE.{stream}", {**config, **settings})


async def recreated(wire: Wire, stream: str, **settings: Any) -> None:
    config = (await wire.api(f"STREAM.INFO.{stream}"))["config"]
    await wire.api(f"STREAM.DELETE.{stream}")
    await wire.api(f"STREAM.CREATE.{stream}", {**config, **settings})


async def faults(node: NatsNode, profile: Profile = Profile.SINGLE, *, monitoring: bool = True) -> tuple[str, ...]:
    """What the start-up check of a new process says."""
    urls = (node.monitoring_url,) if monitoring else ()
    bus = await connect(BusSettings(urls=(node.url,), monitoring_urls=urls))
    try:
        await check(bus, profile)
    except SettingsError as error:
        return error.differences
    finally:
        await bus.close()
    return ()


async def test_a_bus_without_set_up_says_what_to_do(node: NatsNode) -> None:
    with pytest.raises(SettingsError, match="run dispatch setup"):
        await connect(BusSettings(urls=(node.url,)))


async def test_set_up_makes_what_is_missing_and_then_finds_all_of_it(wire: Wire, node: NatsNode) -> None:
    first = await setup(wire, LAYOUT)
    assert (first.generation, len(first.created), first.kept) == (1, 7 + 2 * LAYOUT.shards, ())
    again = await setup(wire, LAYOUT)
    assert (again.created, set(again.kept)) == ((), set(first.created))
    assert await faults(node) == ()


async def test_set_up_makes_again_what_was_lost(wire: Wire) -> None:
    await setup(wire, LAYOUT)
    await wire.api("CONSUMER.DELETE.DISPATCH_WAKE.shard-2")
    await wire.api("STREAM.DELETE.DISPATCH_RECEIPTS")
    assert (await setup(wire, LAYOUT)).created == ("DISPATCH_RECEIPTS", "DISPATCH_WAKE/shard-2")


async def test_what_exists_and_differs_is_told_and_left_as_it_is(wire: Wire) -> None:
    await setup(wire, LAYOUT)
    await changed(wire, "DISPATCH_HISTORY_1", max_age=30 * 86400 * 10**9, discard="old")
    with pytest.raises(SettingsError) as told:
        await setup(wire, LAYOUT)
    assert told.value.differences == (
        "DISPATCH_HISTORY_1: max_age is 30d, must be none",
        "DISPATCH_HISTORY_1: discard is old, must be new",
    )
    config = (await wire.api("STREAM.INFO.DISPATCH_HISTORY_1"))["config"]
    assert (config["max_age"], config["discard"]) == (30 * 86400 * 10**9, "old")


async def test_another_number_of_shards_is_told_not_made(wire: Wire) -> None:
    await setup(wire, LAYOUT)
    with pytest.raises(SettingsError, match="partition"):
        await setup(wire, replace(LAYOUT, shards=16))


async def test_a_layout_that_cannot_work_is_refused_before_anything_is_made(wire: Wire) -> None:
    for layout in (Layout(shards=0), Layout(replicas=2), Layout(replicas=1, lease_s=0), Layout(installation="No")):
        with pytest.raises(SettingsError):
            await setup(wire, layout)
    assert (await wire.api("STREAM.NAMES", {})).get("streams") is None


async def test_every_replica_reads_the_layout_that_set_up_left(world: JetStreamWorld) -> None:
    bus = await world.connect()
    assert (bus.shards, bus.lease_s, bus.generation) == (4, 1.0, 1)


@pytest.mark.parametrize(
    ("stream", "settings", "fault"),
    [
        ("DISPATCH_HISTORY_1", {"discard": "old"}, "DISPATCH_HISTORY_1: discard is old, must be new"),
        ("DISPATCH_HISTORY_1", {"max_age": 10**12}, "DISPATCH_HISTORY_1: max_age is 1000s, must be none"),
        ("DISPATCH_HISTORY_1", {"allow_rollup_hdrs": True, "deny_purge": False, "deny_delete": False}, "deny_purge is"),
        ("DISPATCH_HISTORY_1", {"allow_msg_ttl": True}, "DISPATCH_HISTORY_1: allow_msg_ttl is True, must be False"),
        ("DISPATCH_WAKE", {"discard": "new"}, "DISPATCH_WAKE: discard is new, must be old"),
        ("DISPATCH_WAKE", {"max_msgs_per_subject": 5}, "DISPATCH_WAKE: max_msgs_per_subject is 5, must be 1"),
        ("DISPATCH_COMMANDS", {"subject_transform": None}, "DISPATCH_COMMANDS: subject_transform is none"),
    ],
)
async def test_a_setting_that_is_not_safe_stops_the_start(
    wire: Wire, node: NatsNode, stream: str, settings: dict[str, Any], fault: str
) -> None:
    await setup(wire, LAYOUT)
    await recreated(wire, stream, **settings)
    assert any(fault in said for said in await faults(node))


async def test_a_consumer_that_lets_two_replicas_into_one_shard_stops_the_start(wire: Wire, node: NatsNode) -> None:
    await setup(wire, LAYOUT)
    config = (await wire.api("CONSUMER.INFO.DISPATCH_WAKE.shard-1"))["config"]
    body = {"stream_name": "DISPATCH_WAKE", "config": {**config, "max_ack_pending": 50}, "action": "update"}
    await wire.api(f"CONSUMER.CREATE.DISPATCH_WAKE.shard-1.{config['filter_subject']}", body)
    assert await faults(node) == ("DISPATCH_WAKE/shard-1: max_ack_pending is 50, must be 1",)


async def test_one_server_is_enough_for_a_single_machine_and_for_nothing_else(world: JetStreamWorld) -> None:
    assert isinstance(world.node, NatsNode)
    assert await faults(world.node, Profile.SINGLE) == ()
    assert await faults(world.node, Profile.PRODUCTION) == (
        "servers: there are 1, must be 3 or more (profile single allows one)",
        "history: replicas is 1, must be 3 (profile single allows one)",
    )


async def test_a_server_that_does_not_sync_each_write_stops_the_start(tmp_path: Path) -> None:
    async with one_node(tmp_path, sync='"2m"') as node:
        await JetStreamWorld(node).prepare()
        assert await faults(node) == ("n1: sync_interval must be always; else a power cut loses acknowledged events",)


async def test_syncing_that_cannot_be_checked_stops_the_start(world: JetStreamWorld) -> None:
    assert isinstance(world.node, NatsNode)
    (fault,) = await faults(world.node, monitoring=False)
    assert fault.startswith("monitoring addresses: none is set")


async def test_wrong_credentials_are_told_as_such(tmp_path: Path) -> None:
    async with one_node(tmp_path, more="authorization { user: ana, password: right }") as node:
        address = node.url.replace("nats://", "nats://ana:wrong@")
        with pytest.raises(NotPermittedError) as told:
            await connect(BusSettings(urls=(address,), connect_within_s=1))
        assert "wrong" not in str(told.value)
