from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from streams.errors import SettingsError, WrongStreamError
from streams.jetstream.check import Profile, check
from streams.jetstream.connect import BusSettings, JetStreamBus, connect
from streams.jetstream.generation import Exported, new_generation
from streams.jetstream.setup import setup
from streams.jetstream.wire import ApiError, Wire
from streams.ports import Bus, Caught
from tests.conformance.streams_world import (
    LAYOUT,
    JetStreamWorld,
    a_cancel,
    an_event,
    numbers,
    shard_of,
    take_until,
    write,
)
from tests.servers.nats import NatsNode


async def export(bus: Bus) -> list[Exported]:
    return [
        Exported(subject=stored.subject, data=stored.data, revision=stored.revision)
        async for stored in bus.history.stored()
    ]


@pytest.fixture
async def admin(node: NatsNode) -> AsyncIterator[Wire]:
    wire = Wire(BusSettings(urls=(node.url,)))
    await wire.connect()
    yield wire
    await wire.close()


async def test_a_restored_history_holds_every_message_at_the_revision_it_had(
    world: JetStreamWorld, admin: Wire
) -> None:
    bus = await world.connect()
    await write(bus, 3)
    await write(bus, 2, job="bert", first=4)
    await world.store_bytes("dispatch.job.nlp.llama", b"rubbish")
    kept = await export(bus)
    report = await new_generation(admin, LAYOUT, kept)
    assert (report.generation, report.messages, report.filled, report.last_revision) == (2, 6, 0, 6)
    restored = await world.connect()
    assert restored.generation == 2
    assert await export(restored) == kept
    assert await restored.history.append(an_event(9, job="bert", expected=5)) == 7


async def test_the_part_that_an_export_lacks_stays_empty(world: JetStreamWorld, admin: Wire) -> None:
    bus = await world.connect()
    await write(bus, 700)
    kept = [message for message in await export(bus) if message.revision in {20, 21, 300, 699}]
    report = await new_generation(admin, LAYOUT, kept)
    assert (report.messages, report.filled, report.last_revision) == (4, 676, 699)
    restored = await world.connect()
    assert [entry.revision for entry in await restored.history.read("nlp", "llama")] == [20, 21, 300, 699]
    assert await restored.history.append(an_event(9, expected=699)) == 700


async def test_writers_of_the_older_generation_are_refused(world: JetStreamWorld, admin: Wire) -> None:
    older = await world.connect()
    await write(older, 2)
    await new_generation(admin, LAYOUT, await export(older))
    for expected in (0, 2):
        with pytest.raises(WrongStreamError):
            await older.history.append(an_event(9, expected=expected))
    restored = await world.connect()
    assert numbers(list(await restored.history.read("nlp", "llama"))) == ["h-1", "h-2"]


async def test_a_follower_of_the_older_generation_is_told(world: JetStreamWorld, admin: Wire) -> None:
    older = await world.connect()
    await write(older, 2)
    await new_generation(admin, LAYOUT, await export(older))
    with pytest.raises(WrongStreamError):
        await take_until(older.history.follow(), lambda taken: len(taken) > 5)


async def test_what_was_lost_is_missed_by_no_one_who_knew_it(world: JetStreamWorld, admin: Wire) -> None:
    """L14: a reused revision bears another event id, which is what an object's tag is compared with."""
    older = await world.connect()
    await write(older, 2)
    kept = await export(older)
    lost = await older.history.append(an_event(3, expected=2))
    await new_generation(admin, LAYOUT, kept)
    restored = await world.connect()
    assert await restored.history.append(an_event(4, expected=2)) == lost
    assert numbers(list(await restored.history.read("nlp", "llama"))) == ["h-1", "h-2", "h-4"]


async def test_a_restored_bus_passes_the_start_up_check_and_keeps_waiting_commands(
    world: JetStreamWorld, admin: Wire, node: NatsNode
) -> None:
    bus = await world.connect()
    await bus.commands.publish(a_cancel("c-1"), actor="ana")
    await new_generation(admin, LAYOUT, await export(bus))
    settings = BusSettings(urls=(node.url,), monitoring_urls=(node.monitoring_url,))
    restored = await connect(settings)
    await check(restored, Profile.SINGLE)
    delivery = await restored.commands.receive(shard_of("llama"), rank=0)
    assert delivery is not None
    await restored.close()


async def test_a_status_of_the_older_generation_is_not_taken_for_one_of_the_new(
    world: JetStreamWorld, admin: Wire
) -> None:
    older = await world.connect()
    await older.buckets.put_status("_complete", b"17", expected=None)
    await new_generation(admin, LAYOUT, [])
    restored = await world.connect()
    assert await restored.buckets.get_status("_complete") is None
    assert await take_until(restored.history.follow(), lambda taken: len(taken) == 1) == [Caught(revision=0)]


async def test_an_export_out_of_order_is_refused_and_nothing_is_switched(world: JetStreamWorld, admin: Wire) -> None:
    bus = await world.connect()
    await write(bus, 3)
    first, second, third = await export(bus)
    for wrong in ([first, third, second], [first, first]):
        with pytest.raises(SettingsError, match="the export"):
            await new_generation(admin, LAYOUT, wrong)
    assert await bus.history.append(an_event(9, expected=3)) == 4
    report = await new_generation(admin, LAYOUT, await export(bus))
    assert (report.generation, report.messages) == (2, 4)


async def test_what_no_job_can_have_written_is_left_out_and_counted_the_rest_is_kept(
    world: JetStreamWorld, admin: Wire
) -> None:
    strange = [
        Exported(subject="dispatch.job.NLP.Llama", data=b"quarantined as before", revision=3),
        Exported(subject="dispatch.job.nlp.*", data=b"", revision=4),
        Exported(subject="other", data=b"", revision=5),
        Exported(subject="dispatch.job.nlp.llama", data=b"rubbish", revision=6),
    ]
    report = await new_generation(admin, LAYOUT, strange)
    assert (report.messages, report.filled, report.left_out) == (2, 2, 2)
    assert await export(await world.connect()) == [strange[0], strange[3]]


async def test_a_generation_that_is_lost_with_its_servers_is_never_used_again(admin: Wire) -> None:
    await setup(admin, LAYOUT)
    report = await new_generation(admin, LAYOUT, [], above=6)
    assert report.generation == 7


async def test_each_restore_makes_another_generation_and_the_last_one_counts(
    world: JetStreamWorld, admin: Wire
) -> None:
    bus = await world.connect()
    await write(bus, 2)
    kept = await export(bus)
    second = (await new_generation(admin, LAYOUT, kept)).generation
    third = (await new_generation(admin, LAYOUT, kept[:1])).generation
    assert (second, third) == (2, 3)
    latest = await world.connect()
    assert latest.generation == 3
    assert numbers(list(await latest.history.read("nlp", "llama"))) == ["h-1"]


async def test_nothing_restored_can_be_purged_or_deleted(world: JetStreamWorld, admin: Wire) -> None:
    bus = await world.connect()
    await write(bus, 2)
    await new_generation(admin, LAYOUT, await export(bus))
    with pytest.raises(ApiError, match="not permitted"):
        await admin.api("STREAM.PURGE.DISPATCH_HISTORY_2", {})
    with pytest.raises(ApiError, match="not permitted"):
        await admin.api("STREAM.MSG.DELETE.DISPATCH_HISTORY_2", {"seq": 1})


async def test_set_up_of_a_restore_that_was_not_ended_says_how_to_end_it(world: JetStreamWorld, admin: Wire) -> None:
    bus = await world.connect()
    assert isinstance(bus, JetStreamBus)
    await write(bus, 1)
    kept = await export(bus)
    config = (await admin.api("STREAM.INFO.DISPATCH_HISTORY_1"))["config"]
    await admin.api("STREAM.UPDATE.DISPATCH_HISTORY_1", {**config, "subjects": ["dispatch.retired.1"]})
    with pytest.raises(SettingsError, match="new-generation"):
        await setup(admin, LAYOUT)
    assert (await new_generation(admin, LAYOUT, kept)).generation == 2
