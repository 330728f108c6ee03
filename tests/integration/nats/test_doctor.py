from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.floors import FloorStore
from adapters.local.adapter import LocalAdapter
from adapters.remote.agent import Agent
from dispatch.config import Found, Settings
from dispatch.contexts import BusAddress
from dispatch.doctor import Finding, examine
from dispatch.rights import MAKE_STREAMS, Rights, rights_of
from streams import permissions
from streams.jetstream.connect import BusSettings, JetStreamBus, connect
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from tests.conformance.streams_world import LAYOUT, JetStreamWorld
from tests.servers.nats import NatsNode, one_node

GRANTS = {
    "ana": permissions.service("nlp", "ana"),
    "sv-a": permissions.supervisor("sv-a"),
    "aud": permissions.auditor("aud"),
    "rig": permissions.agent("rig"),
}
READS = {"read histories", "read status", "read receipts"}
MAY = {
    "ana": {"publish commands of nlp as ana", *READS},
    "sv-a": {"append events", "wake jobs", *READS},
    "aud": READS,
    "rig": {"wake jobs"},
}


def settings_of(node: NatsNode, user: str = "", *, monitoring: bool = True) -> Settings:
    url = node.url.replace("//", f"//{user}:{user}@") if user else node.url
    grant = GRANTS.get(user)
    address = BusAddress(
        (url,),
        inbox_prefix=grant.inbox_prefix if grant else None,
        monitoring=(node.monitoring_url,) if monitoring else (),
    )
    return Settings(
        address=address,
        bus_source="--nats",
        tenant=Found("nlp", "--tenant"),
        cluster=Found(None, ""),
        context=Found(None, ""),
        actor=user or "ana",
    )


async def told(settings: Settings, *parts: str) -> tuple[Finding, ...]:
    return await examine(settings, parts, single=True, probe=False)


def having(findings: Sequence[Finding], words: str) -> Finding:
    (found,) = [each for each in findings if words in each.what]
    return found


async def messages(wire: Wire) -> dict[str, int]:
    names = (await wire.api("STREAM.NAMES", {}))["streams"]
    return {name: (await wire.api(f"STREAM.INFO.{name}"))["state"]["messages"] for name in names}


async def test_a_bus_that_is_well_is_told_with_its_clocks_and_what_the_credentials_may(world: JetStreamWorld) -> None:
    assert isinstance(world.node, NatsNode)
    findings = await told(settings_of(world.node), "bus")
    assert [each for each in findings if each.level == "FAIL"] == []
    clocks = [each for each in findings if "clock is within" in each.what]
    assert len(clocks) == 2, "the leader's over the bus, the server's over its monitor"
    assert all(each.level == "ok" for each in clocks)
    may = having(findings, "these credentials may:").what
    assert "publish commands of nlp as ana" in may
    assert MAKE_STREAMS in may


async def test_a_monitoring_address_that_is_missing_is_told_with_how_to_name_it(world: JetStreamWorld) -> None:
    assert isinstance(world.node, NatsNode)
    finding = having(await told(settings_of(world.node, monitoring=False), "bus"), "monitoring addresses: none")
    assert finding.level == "FAIL"
    assert finding.do.startswith("--monitoring URL,… or monitoring:")


async def test_a_stream_that_differs_is_told_with_what_mends_a_stream(world: JetStreamWorld) -> None:
    assert isinstance(world.node, NatsNode)
    wire = Wire(world.settings)
    await wire.connect()
    config = (await wire.api("STREAM.INFO.DISPATCH_HISTORY_1"))["config"]
    await wire.api("STREAM.UPDATE.DISPATCH_HISTORY_1", {**config, "discard": "old"})
    await wire.close()
    finding = having(await told(settings_of(world.node), "bus"), "discard is old")
    assert finding.level == "FAIL"
    assert "nats stream edit DISPATCH_HISTORY_1" in finding.do


@asynccontextmanager
async def with_accounts(tmp_path: Path) -> AsyncIterator[tuple[NatsNode, Wire]]:
    """A server with a user of each role, set up by its administrator, whose connection is given along."""
    users = [(grant, f"user: {name}, password: {name}") for name, grant in GRANTS.items()]
    accounts = permissions.server_accounts(users, admin="user: admin, password: admin")
    async with one_node(tmp_path, more=accounts) as node:
        admin = Wire(BusSettings(urls=settings_of(node, "admin").bus().urls))
        await admin.connect()
        await setup(admin, LAYOUT)
        try:
            yield node, admin
        finally:
            await admin.close()


async def rights_as(node: NatsNode, user: str) -> Rights:
    address = settings_of(node, user).bus()
    bus: JetStreamBus = await connect(
        BusSettings(urls=address.urls, inbox_prefix=address.inbox_prefix or "_INBOX", read_within_s=1.0)
    )
    try:
        return await rights_of(bus, tenant="nlp", actor="ana")
    finally:
        await bus.close()


async def test_each_role_is_told_its_own_rights_and_asking_stores_nothing(tmp_path: Path) -> None:
    async with with_accounts(tmp_path) as (node, admin):
        before = await messages(admin)
        rights = {user: await rights_as(node, user) for user in (*GRANTS, "admin")}
        assert {user: set(rights[user].may) for user in GRANTS} == MAY
        assert all(MAKE_STREAMS in rights[user].may_not for user in GRANTS)
        assert MAKE_STREAMS in rights["admin"].may
        assert [held.unclear for held in rights.values()] == [()] * 5
        assert await messages(admin) == before


async def test_a_service_that_may_not_read_consumers_is_warned_not_failed(tmp_path: Path) -> None:
    async with with_accounts(tmp_path) as (node, _):
        findings = await told(settings_of(node, "ana"), "bus")
        assert having(findings, "its settings cannot be checked").level == "warn"
        assert [each.what for each in findings if each.level == "FAIL"] == []


async def test_an_agents_clock_and_call_bound_are_shown(world: JetStreamWorld, tmp_path: Path) -> None:
    assert isinstance(world.node, NatsNode)
    bus = await world.connect()
    assert isinstance(bus, JetStreamBus)
    adapter = LocalAdapter(tmp_path / "rig", cluster="rig", slots=1)
    agent = Agent(bus.wire.client, adapter, "rig", floors=FloorStore(tmp_path / "floors"))
    await agent.start()
    findings = await told(settings_of(world.node), "rig")
    await agent.drain(5.0)
    assert [each.level for each in findings if each.level == "FAIL"] == []
    assert having(findings, "CallBound 5s").part == "rig"
    assert having(findings, "its host's clock is within").level == "ok"


@pytest.mark.parametrize(("parts", "level"), [(("rig",), "FAIL"), ((), "warn")])
async def test_a_cluster_without_an_agent_fails_only_who_asked_for_it(
    world: JetStreamWorld, parts: tuple[str, ...], level: str
) -> None:
    assert isinstance(world.node, NatsNode)
    bus = await world.connect()
    await bus.buckets.beat("sv-a", b'{"name": "sv-a", "clusters": {"rig": null}}', ttl_s=30)
    finding = having(await told(settings_of(world.node), *parts), "no agent of it listens")
    assert (finding.part, finding.level) == ("rig", level)
