from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from streams.errors import RegressionError, SettingsError
from streams.jetstream.check import Profile, check
from streams.jetstream.connect import BusSettings, connect
from streams.jetstream.generation import Exported, new_generation
from streams.jetstream.layout import Layout
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from streams.messages.events import Entry, Envelope
from tests.conformance.streams_world import an_event, numbers, take_until, until, write
from tests.integration.nats.load import Load, leader_of, whole_history
from tests.servers.nats import NatsNode, cluster, cluster_ready, node_named

LAYOUT = Layout(replicas=3, shards=2, lease_s=1.0)
HISTORY = "DISPATCH_HISTORY_1"


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[tuple[NatsNode, ...]]:
    """Three servers, each with a copy of everything."""
    async with cluster(tmp_path) as servers:
        wire = Wire(BusSettings(urls=tuple(node.url for node in servers)))
        await wire.connect()
        await setup(wire, LAYOUT)
        await wire.close()
        yield servers


@pytest.fixture
async def load(nodes: tuple[NatsNode, ...]) -> AsyncIterator[Load]:
    work = Load(nodes)
    await work.start(writers=3, shards=LAYOUT.shards)
    yield work
    await work.close()


def envelopes(entries: list[Entry]) -> list[Envelope]:
    assert all(isinstance(entry.content, Envelope) for entry in entries)
    return [entry.content for entry in entries if isinstance(entry.content, Envelope)]


async def test_no_acknowledged_event_is_lost_and_all_go_on_when_the_leader_dies_and_then_every_server(
    nodes: tuple[NatsNode, ...], load: Load
) -> None:
    observer = await load.connect()
    await load.progress()

    leader = node_named(nodes, await leader_of(observer, HISTORY))
    leader.kill()
    await load.progress()
    await leader.start()
    await load.progress()

    for node in nodes:
        node.kill()
    for node in nodes:
        node.spawn()
    await cluster_ready(nodes)
    await load.progress()
    await load.stop()

    entries = await until(lambda: whole_history(observer), lambda found: _holds(found, load))
    by_revision = {entry.revision: entry for entry in entries}
    for job, acknowledged in load.acknowledged.items():
        assert len(acknowledged) > 10
        for revision, event in acknowledged:
            stored = by_revision[revision]
            assert isinstance(stored.content, Envelope)
            assert (stored.job, stored.content.id) == (job, event)
    assert_every_event_stands_on_the_one_it_expected(entries)
    assert_nothing_is_stored_twice(entries)

    decided = Counter(envelope.command for envelope in envelopes(entries) if envelope.command)
    assert {command for command, times in decided.items() if times > 1} == set()
    assert set(load.published) <= set(decided)
    assert await observer.commands.waiting() == 0
    for command in load.published:
        assert await observer.buckets.get_receipt("nlp", command) is not None

    followed = [entry.revision for entry in load.followed]
    assert followed == [entry.revision for entry in entries][: len(followed)]


def _holds(entries: list[Entry], load: Load) -> bool:
    """Whether the copy that was read is as new as the last acknowledgement: a read may be old."""
    newest = max(acknowledged[-1][0] for acknowledged in load.acknowledged.values())
    return bool(entries) and entries[-1].revision >= newest


def assert_every_event_stands_on_the_one_it_expected(entries: list[Entry]) -> None:
    last: dict[str, int] = {}
    for entry, envelope in zip(entries, envelopes(entries), strict=True):
        assert envelope.expected == last.get(entry.job, 0), f"{entry.job} r{entry.revision}"
        last[entry.job] = entry.revision


def assert_nothing_is_stored_twice(entries: list[Entry]) -> None:
    ids = Counter((entry.job, envelope.id) for entry, envelope in zip(entries, envelopes(entries), strict=True))
    assert [key for key, times in ids.items() if times > 1] == []


async def test_a_leader_that_stalls_and_wakes_up_loses_nothing_and_stores_nothing_twice(
    nodes: tuple[NatsNode, ...], load: Load
) -> None:
    observer = await load.connect()
    await load.progress()
    leader = node_named(nodes, await leader_of(observer, HISTORY))
    leader.pause()
    await asyncio.sleep(7)  # waits: until another leads
    leader.resume()
    await load.progress()
    await load.stop()
    entries = await until(lambda: whole_history(observer), lambda found: _holds(found, load))
    stored = {(entry.revision, envelope.id) for entry, envelope in zip(entries, envelopes(entries), strict=True)}
    assert {pair for acknowledged in load.acknowledged.values() for pair in acknowledged} <= stored
    assert_every_event_stands_on_the_one_it_expected(entries)
    assert_nothing_is_stored_twice(entries)


async def test_three_servers_pass_the_start_up_check_only_if_all_are_watched(nodes: tuple[NatsNode, ...]) -> None:
    urls = tuple(node.url for node in nodes)
    bus = await connect(BusSettings(urls=urls, monitoring_urls=tuple(node.monitoring_url for node in nodes)))
    servers = await check(bus, Profile.PRODUCTION)
    assert sorted(server.name for server in servers) == ["n1", "n2", "n3"]
    await bus.close()
    one = await connect(BusSettings(urls=urls, monitoring_urls=(nodes[0].monitoring_url,)))
    with pytest.raises(SettingsError, match="1 of 3 servers are named"):
        await check(one, Profile.PRODUCTION)
    await one.close()


async def test_a_restore_on_three_servers_keeps_every_revision(nodes: tuple[NatsNode, ...]) -> None:
    settings = BusSettings(urls=tuple(node.url for node in nodes))
    exported = [
        Exported(subject=f"dispatch.job.nlp.job-{number % 7}", data=str(number).encode(), revision=100 + 2 * number)
        for number in range(1200)
    ]
    wire = Wire(settings)
    await wire.connect()
    report = await new_generation(wire, LAYOUT, exported)
    await wire.close()
    assert (report.generation, report.messages, report.filled) == (2, 1200, 1199)
    bus = await connect(settings)

    async def read_back() -> list[Exported]:
        return [
            Exported(subject=stored.subject, data=stored.data, revision=stored.revision)
            async for stored in bus.history.stored()
        ]

    assert await until(read_back, lambda found: len(found) >= 1200) == exported
    await bus.close()


async def test_a_history_restored_from_older_copies_is_noticed_by_who_had_read_further(
    nodes: tuple[NatsNode, ...],
) -> None:
    bus = await connect(BusSettings(urls=tuple(node.url for node in nodes), regression_after_s=2.0))
    await write(bus, 3)
    await restart_all(nodes, between=lambda node: shutil.copytree(node.directory / "store", node.directory / "copy"))
    *_, last = await write(bus, 3, first=4)
    await restart_all(nodes, between=_put_back)
    with pytest.raises(RegressionError) as told:
        await bus.history.append(an_event(7, expected=last))
    assert (told.value.expected, told.value.current) == (last, 3)
    with pytest.raises(RegressionError):
        await take_until(bus.history.follow(after=last), lambda taken: len(taken) == 1)
    assert numbers(list(await bus.history.read("nlp", "llama"))) == ["h-1", "h-2", "h-3"]
    await bus.close()


async def restart_all(nodes: tuple[NatsNode, ...], *, between: Callable[[NatsNode], object]) -> None:
    for node in nodes:
        node.stop()
    for node in nodes:
        between(node)
        node.spawn()
    await cluster_ready(nodes)


def _put_back(node: NatsNode) -> None:
    shutil.rmtree(node.directory / "store")
    (node.directory / "copy").rename(node.directory / "store")
