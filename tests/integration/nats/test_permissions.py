"""Who may do what, on a real server: by accounts in its own configuration, and by an operator's signatures over TLS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace
from dispatch.client import Accepted, AsyncClient, Said
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from streams import permissions, subjects
from streams.errors import BusUnreachableError, NotPermittedError
from streams.jetstream.check import Profile, check
from streams.jetstream.connect import BusSettings, JetStreamBus, connect
from streams.jetstream.setup import setup
from streams.jetstream.wire import NoAnswerError, Wire
from streams.messages.receipts import Progress
from streams.messages.spec import JobSpec, Run
from streams.permissions import Grant
from streams.ports import Caught
from tests.conformance.streams_world import LAYOUT, a_cancel, a_receipt, an_event, shard_of, take_until, until, write
from tests.servers.nats import NatsNode, one_node
from tests.servers.operator import ADMIN, Operator

GRANTS = {
    "ana": permissions.service("nlp", "ana"),
    "bo": permissions.service("nlp", "bo", reads=False),
    "cai": permissions.service("vision", "cai"),
    "sv-a": permissions.supervisor("sv-a"),
    "aud": permissions.auditor("aud"),
    "hpc2": permissions.agent("hpc2"),
}
Connect = Callable[[str], Awaitable[JetStreamBus]]
NO_RIGHT = (NotPermittedError, BusUnreachableError)


class Guarded(NamedTuple):
    """A server that tells its users apart. `operator` None: by passwords in its configuration."""

    node: NatsNode
    operator: Operator | None


def settings_for(guarded: Guarded, user: str, grant: Grant | None = None) -> BusSettings:
    node, operator = guarded
    url = node.url if operator else node.url.replace("//", f"//{user}:{user}@")
    return BusSettings(
        urls=(url,),
        creds=operator.creds(user) if operator else None,
        tls_ca=operator.authority if operator else None,
        inbox_prefix=grant.inbox_prefix if grant else "_INBOX",
        monitoring_urls=(node.monitoring_url,),
        receive_wait_s=0.5,
        publish_within_s=1.0,
        append_within_s=1.0,
        read_within_s=1.0,
    )


@pytest.fixture(params=["configured", "signed"])
async def guarded(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Guarded]:
    users = [(grant, f"user: {name}, password: {name}") for name, grant in GRANTS.items()]
    operator = Operator(tmp_path / "operator", GRANTS) if request.param == "signed" else None
    accounts = permissions.server_accounts(users, admin="user: admin, password: admin")
    async with one_node(tmp_path, more=operator.server_config() if operator else accounts) as server:
        guarded = Guarded(server, operator)
        admin = Wire(settings_for(guarded, ADMIN))
        await admin.connect()
        await setup(admin, LAYOUT)
        await admin.close()
        yield guarded


async def nothing_else_is_in(supervisor: JetStreamBus, job: str, count: int) -> None:
    """The job's history has these events and no more: an append at the last of them is accepted."""
    await write(supervisor, 1, job=job, first=count + 1)
    assert len(await supervisor.history.read("nlp", job)) == count + 1


@pytest.fixture
async def bus_of(guarded: Guarded) -> AsyncIterator[Connect]:
    opened: list[JetStreamBus] = []

    async def open_as(user: str) -> JetStreamBus:
        opened.append(await connect(settings_for(guarded, user, GRANTS.get(user))))
        return opened[-1]

    yield open_as
    for bus in opened:
        await bus.close()


async def test_a_service_publishes_its_commands_and_reads_what_became_of_them(bus_of: Connect) -> None:
    service, supervisor = await bus_of("ana"), await bus_of("sv-a")
    await service.commands.publish(a_cancel("c-1"), actor="ana")
    delivery = await supervisor.commands.receive(shard_of("llama"), rank=0)
    assert delivery is not None
    assert delivery.subject == "dispatch.command.nlp.ana.cancel.llama"
    await write(supervisor, 3)
    assert await supervisor.history.last_revision("nlp", "llama") == len(await supervisor.history.read("nlp", "llama"))
    await supervisor.buckets.put_receipt(a_receipt("c-1", Progress.COMMITTED))
    await delivery.ack()
    assert await service.buckets.get_receipt("nlp", "c-1") == a_receipt("c-1", Progress.COMMITTED)
    assert len(await service.history.read("nlp", "llama")) == 3
    seen = await take_until(service.history.follow(), lambda taken: isinstance(taken[-1], Caught))
    assert len(seen) == 4


async def test_a_service_cannot_append_to_the_history(bus_of: Connect) -> None:
    service, supervisor = await bus_of("ana"), await bus_of("sv-a")
    with pytest.raises(NotPermittedError):
        await service.history.append(an_event(1))
    assert await supervisor.history.read("nlp", "llama") == ()


async def test_the_place_for_an_answer_is_no_way_into_the_history(bus_of: Connect) -> None:
    service, supervisor = await bus_of("ana"), await bus_of("sv-a")
    for request in (
        "dispatch.command.nlp.ana.cancel.llama",
        "$JS.API.STREAM.NAMES",
        "$JS.API.DIRECT.GET.DISPATCH_WAKE",
    ):
        await service.wire.client.publish(request, b"{}", reply="dispatch.job.nlp.llama")
    await until(supervisor.commands.waiting, lambda waiting: waiting == 1)
    await service.buckets.get_receipt("nlp", "c-1")  # answered after what was asked before it
    await nothing_else_is_in(supervisor, "llama", 0)


async def test_a_service_speaks_as_itself_and_for_its_tenant_alone(bus_of: Connect) -> None:
    ana, cai, supervisor = await bus_of("ana"), await bus_of("cai"), await bus_of("sv-a")
    with pytest.raises(NotPermittedError):
        await ana.commands.publish(a_cancel("c-1"), actor="bo")
    with pytest.raises(NotPermittedError):
        await cai.commands.publish(a_cancel("c-2"), actor="cai")
    assert await supervisor.commands.waiting() == 0


async def test_a_service_that_only_publishes_reads_its_tenants_receipts_and_nothing_else(
    guarded: Guarded, bus_of: Connect
) -> None:
    supervisor = await bus_of("sv-a")
    await supervisor.buckets.put_receipt(a_receipt("c-1", Progress.COMMITTED))
    wire = Wire(settings_for(guarded, "bo", GRANTS["bo"]))
    await wire.connect()
    answer = await wire.ask(f"dispatch.api.DIRECT.GET.DISPATCH_RECEIPTS.{subjects.receipt('nlp', 'c-1')}")
    assert b'"progress":"committed"' in answer.data
    for request in (
        f"dispatch.api.DIRECT.GET.DISPATCH_RECEIPTS.{subjects.receipt('vision', 'c-1')}",
        "dispatch.api.DIRECT.GET.DISPATCH_HISTORY_1",
        "$JS.API.DIRECT.GET.DISPATCH_HISTORY_1",
        "$JS.API.STREAM.NAMES",
        "dispatch.api.STREAM.NAMES",
        "$JS.API.CONSUMER.MSG.NEXT.DISPATCH_COMMANDS.shard-0",
    ):
        with pytest.raises(NO_RIGHT):
            await wire.ask(request, b"{}")
    await wire.close()


async def test_an_auditor_reads_everything_and_changes_nothing(bus_of: Connect) -> None:
    auditor, supervisor = await bus_of("aud"), await bus_of("sv-a")
    await write(supervisor, 2)
    await supervisor.buckets.put_status("nlp.llama", b"{}", expected=None)
    assert len(await auditor.history.read("nlp", "llama")) == 2
    assert len([stored async for stored in auditor.history.stored()]) == 2
    assert [entry.key async for entry in auditor.buckets.list_status()] == ["nlp.llama"]
    with pytest.raises(NotPermittedError):
        await auditor.history.append(an_event(3, expected=2))
    with pytest.raises(NO_RIGHT):
        await auditor.buckets.put_status("nlp.bert", b"{}", expected=None)
    with pytest.raises(NO_RIGHT):
        await auditor.commands.publish(a_cancel("c-1"), actor="aud")
    for request in ("STREAM.PURGE", "STREAM.DELETE", "STREAM.UPDATE", "STREAM.MSG.DELETE"):
        with pytest.raises(NO_RIGHT):
            await auditor.wire.api(f"{request}.DISPATCH_HISTORY_1", {"seq": 1})
    await auditor.wire.client.publish("dispatch.api.STREAM.INFO.DISPATCH_WAKE", b"", reply="dispatch.job.nlp.llama")
    await auditor.wire.api("STREAM.INFO.DISPATCH_WAKE", {})  # answered after what was asked before it
    await nothing_else_is_in(supervisor, "llama", 2)


async def test_a_supervisor_does_all_its_work_and_makes_or_deletes_nothing(bus_of: Connect) -> None:
    bus = await bus_of("sv-a")
    await check(bus, Profile.SINGLE)
    await write(bus, 2)
    assert len(await take_until(bus.history.follow(), lambda taken: isinstance(taken[-1], Caught))) == 3
    await bus.wakeups.wake_at("nlp", "llama", datetime.now(UTC) + timedelta(seconds=0.3))
    wake = await until(lambda: bus.wakeups.receive(shard_of("llama"), rank=0), lambda found: found is not None)
    assert wake is not None
    await wake.in_progress()
    await wake.ack()
    await bus.buckets.put_status("nlp.llama", b"{}", expected=None)
    await bus.buckets.beat("sv-a", b"{}", ttl_s=60)
    assert list(await bus.buckets.replicas()) == ["sv-a"]
    for request in (
        "STREAM.CREATE.EVIL",
        "STREAM.UPDATE.DISPATCH_HISTORY_1",
        "STREAM.DELETE.DISPATCH_HISTORY_1",
        "STREAM.PURGE.DISPATCH_WAKE",
        "STREAM.MSG.DELETE.DISPATCH_HISTORY_1",
        "CONSUMER.DELETE.DISPATCH_WAKE.shard-0",
        "CONSUMER.CREATE.DISPATCH_WAKE.evil.dispatch.shard.0.wake.>",
    ):
        with pytest.raises(NotPermittedError):
            await bus.wire.api(request, {"name": "EVIL", "seq": 1})
    with pytest.raises(NotPermittedError):
        await bus.commands.publish(a_cancel("c-1"), actor="sv-a")


async def test_an_agent_answers_its_calls_and_wakes_jobs_and_sees_no_history(guarded: Guarded, bus_of: Connect) -> None:
    supervisor = await bus_of("sv-a")
    agent = Wire(settings_for(guarded, "hpc2", GRANTS["hpc2"]))
    await agent.connect()
    asked: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer(message: object) -> None:
        asked.put_nowait(message.data)  # type: ignore[attr-defined]
        await message.respond(b"three objects")  # type: ignore[attr-defined]

    await agent.client.subscribe(subjects.agents("hpc2"), cb=answer)
    await agent.client.flush()
    reply = await supervisor.wire.ask(subjects.agent("hpc2", "find"), b"llama")
    assert (asked.get_nowait(), reply.data) == (b"llama", b"three objects")
    service = await bus_of("ana")
    assert (await service.wire.ask(subjects.agent("hpc2", "inspect"))).data == b"three objects"
    with pytest.raises(NotPermittedError):
        await service.wire.ask(subjects.agent("hpc2", "stop"))

    await agent.ask(subjects.wake("nlp", "llama"))
    wake = await until(lambda: supervisor.wakeups.receive(shard_of("llama"), rank=0), lambda found: found is not None)
    assert wake is not None
    await wake.ack()
    for request in ("$JS.API.DIRECT.GET.DISPATCH_HISTORY_1", "dispatch.job.nlp.llama", subjects.agent("k8s-a", "find")):
        with pytest.raises((*NO_RIGHT, NoAnswerError)):
            await agent.ask(request, b"{}")
    await agent.client.publish(subjects.wake("nlp", "bert"), b"", reply="dispatch.job.nlp.bert")
    await until(lambda: supervisor.wakeups.receive(shard_of("bert"), rank=0), lambda found: found is not None)
    await nothing_else_is_in(supervisor, "bert", 0)
    await agent.close()


async def test_two_tenants_with_the_same_job_and_command_id_never_touch_each_other(bus_of: Connect) -> None:
    cluster = SlurmCluster(name="sim", clock=lambda: datetime.now(UTC), pace=SlurmPace())
    settings = ReplicaSettings(name="sv-a", installation=LAYOUT.installation, lease_s=LAYOUT.lease_s, heartbeat_s=0.5)
    replica = Replica(await bus_of("sv-a"), Clusters({"sim": SlurmAdapter(cluster)}, None), settings)
    running = asyncio.create_task(replica.run())
    spec = JobSpec(cluster="sim", run=Run(command=("sleep", "600")))
    nlp = AsyncClient(await bus_of("ana"), tenant="nlp", actor="ana", timeout_s=20.0)
    vision = AsyncClient(await bus_of("cai"), tenant="vision", actor="cai", timeout_s=20.0)
    for client in (nlp, vision):
        assert isinstance(await client.submit("llama", spec, said=Said(command="c-1")), Accepted)
    assert isinstance(await nlp.cancel("llama", said=Said(command="c-2")), Accepted)
    await until(lambda: nlp.record("llama"), lambda record: record.settled)
    other = await until(lambda: vision.record("llama"), lambda record: bool(record.objects))
    assert other.cancel is None
    assert isinstance(await vision.cancel("llama", said=Said(command="c-2")), Accepted)
    settled = await until(lambda: vision.record("llama"), lambda record: record.settled)
    assert {entry.tenant for entry in await nlp.history("llama")} == {"nlp"}
    assert settled.objects.keys().isdisjoint((await nlp.record("llama")).objects)
    with pytest.raises(NotPermittedError):
        await AsyncClient(await bus_of("ana"), tenant="vision", actor="cai").cancel("llama")
    replica.stop()
    await running


async def test_a_server_that_speaks_tls_alone_is_reached_only_by_who_trusts_it(tmp_path: Path) -> None:
    operator = Operator(tmp_path / "operator", GRANTS)
    async with one_node(tmp_path, more=operator.server_config()) as server:
        settings = settings_for(Guarded(server, operator), "ana", GRANTS["ana"])
        trusting = Wire(settings)
        await trusting.connect()
        await trusting.close()
        with pytest.raises(BusUnreachableError):
            await Wire(replace(settings, tls_ca=None, connect_within_s=1.0)).connect()


@pytest.mark.parametrize("asked", ["tls://", "an authority"])
async def test_whoever_stands_between_and_hides_that_the_server_has_tls_learns_nothing(
    tmp_path: Path, asked: str
) -> None:
    operator, said = Operator(tmp_path / "operator", GRANTS), list[bytes]()

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576,"headers":true,"nonce":"AAAA"}\r\n'
        )
        said.append(await reader.read())
        writer.close()

    server = await asyncio.start_server(pretend, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = BusSettings(
        urls=(f"{'tls' if asked == 'tls://' else 'nats'}://localhost:{port}",),
        tls_ca=None if asked == "tls://" else operator.authority,
        creds=operator.creds("ana"),
        connect_within_s=1.0,
    )
    with pytest.raises(BusUnreachableError, match="offers no TLS"):
        await Wire(settings).connect()
    server.close()
    await server.wait_closed()
    assert said
    assert not any(said)


async def test_credentials_of_another_operator_are_refused_and_no_secret_is_told(tmp_path: Path) -> None:
    operator, other = Operator(tmp_path / "operator", GRANTS), Operator(tmp_path / "other", GRANTS)
    async with one_node(tmp_path, more=operator.server_config()) as server:
        settings = settings_for(Guarded(server, operator), "ana")
        with pytest.raises(NotPermittedError) as refused:
            await Wire(replace(settings, creds=other.creds("ana"))).connect()
    told = f"{refused.value} {settings}"
    secrets = [line for line in other.creds("ana").read_text().splitlines() if line and not line.startswith("---")]
    assert len(secrets) == 2
    assert not any(secret in told for secret in secrets)


def test_a_name_that_would_widen_a_permission_is_refused() -> None:
    for wrong in ("*", ">", "a.b", "", 'x" }', "NLP"):
        with pytest.raises(ValueError, match="must be 1 to 63"):
            permissions.service(wrong, "ana")
        with pytest.raises(ValueError, match="must be 1 to 63"):
            permissions.service("nlp", wrong)
        with pytest.raises(ValueError, match="must be 1 to 63"):
            permissions.agent(wrong)


@pytest.mark.parametrize("role", ["service", "supervisor", "auditor", "agent"])
async def test_what_is_printed_for_a_role_is_a_configuration_that_a_server_takes(tmp_path: Path, role: str) -> None:
    key = "UCLQTVEMJ3U5URWECWTFRQXYFQHJ3IXSPWBNB7OOFMSSX3TC7A7CYQCI"
    printed = permissions.permissions_of(role, "nlp")
    assert "NKEY" in printed
    text = printed.replace("ADMIN_NKEY", key).replace(
        "NKEY", "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
    )
    async with one_node(tmp_path, more=text) as server:
        assert server.pid
