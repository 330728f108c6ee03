"""An agent serves any adapter over a real bus: nothing is lost of what an answer, or its absence, says."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from adapters import wire
from adapters.errors import (
    AdapterError,
    DeadlinePassedError,
    OutcomeUnknownError,
    PodsRemainError,
    RefusedError,
    UnreachableError,
)
from adapters.floors import FloorStore
from adapters.remote.agent import Agent
from adapters.remote.client import RemoteAdapter
from adapters.remote.gone import GoneAdapter
from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.host import Request
from adapters.simulated.slurm import SlurmCluster, SlurmSettings
from streams import subjects
from streams.memory.bus import MemoryBus
from streams.messages.calls import JobName, StartCall, StopCall, StopJobCall
from streams.messages.spec import SPEC_BYTES_MAX, JobSpec, Run
from streams.messages.values import CessationAnswer, CessationBasis, Floor, Found, ObjectRef, Phase, Sighting, Tag
from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import eventually, job_of
from tests.servers.nats import NatsNode, one_node

T = TypeVar("T")
NAME = JobName(installation="main", tenant="nlp", job="llama")
AGENT = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import nats
from adapters.floors import FloorStore
from adapters.remote.agent import Agent
from tests.conformance.local_world import LocalWorld
async def main(url, folder):
    world = LocalWorld(Path(folder))
    client = await nats.connect(url)
    await Agent(client, world.adapter, world.cluster, floors=FloorStore(Path(folder) / "floors")).start()
    Path(folder, "ready").touch()
    await asyncio.Event().wait()
asyncio.run(main(*sys.argv[2:]))
"""


class Doorway:
    """A way to the scheduler on which calls wait until the door is open; how many were on it at once."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.on_it = self.at_most = 0
        self.fails: AdapterError | Exception | None = None

    async def carry(self, request: Request[T]) -> T:
        self.on_it += request.writes
        self.at_most = max(self.at_most, self.on_it)
        try:
            if request.writes:
                await self.open.wait()
            if self.fails is not None:
                raise self.fails
            request.arrive()
            return request.land()
        finally:
            self.on_it -= request.writes


class Stand:
    """A server, a simulated cluster behind a doorway, an agent for it, and its client."""

    step_s = 0.01

    def __init__(self, node: NatsNode, near: Client, far: Client, folder: Path) -> None:
        self.node = node
        self.near, self.far = near, far
        self.folder = folder
        self.door = Doorway()
        settings = SlurmSettings(keeps_floor=False)
        self.cluster = SlurmCluster(name="sim", clock=lambda: datetime.now(UTC), settings=settings)
        self.adapter = RemoteAdapter(far, "sim", read_within_s=2.0, call_within_s=2.0)

    def agent(self, *, max_calls: int = 8) -> Agent:
        floors = FloorStore(self.folder / "floors")
        return Agent(self.near, SlurmAdapter(self.cluster, self.door), "sim", floors=floors, max_calls=max_calls)


@pytest.fixture
async def stand(tmp_path: Path) -> AsyncIterator[Stand]:
    async with one_node(tmp_path) as node:
        near, far = await nats.connect(node.url), await nats.connect(node.url)
        yield Stand(node, near, far, tmp_path)
        await near.close()
        await far.close()


def start_call(attempt: int = 1, *, within_s: float = 30.0, env: dict[str, str] | None = None) -> StartCall:
    pair = Floor(revision=100 + attempt, nonce=f"{attempt:026d}")
    tag = Tag(
        installation=NAME.installation,
        tenant=NAME.tenant,
        job=NAME.job,
        submission=1,
        attempt=attempt,
        revision=pair.revision,
        nonce=pair.nonce,
    )
    spec = JobSpec(cluster="sim", run=Run(command=("sleep", "60")), env=env or {})
    deadline_at = datetime.now(UTC) + timedelta(seconds=within_s)
    return StartCall(name=NAME, call=attempt, deadline_at=deadline_at, pair=pair, tag=tag, spec=spec)


async def test_without_an_agent_nothing_was_sent_and_a_retry_is_safe(stand: Stand) -> None:
    with pytest.raises(UnreachableError, match="no agent of sim can be reached"):
        await stand.adapter.start(start_call())
    with pytest.raises(UnreachableError):
        await stand.adapter.find(NAME)
    assert stand.cluster.jobs == []


async def test_a_closed_connection_sends_nothing(stand: Stand) -> None:
    await stand.agent().start()
    await stand.far.close()
    with pytest.raises(UnreachableError):
        await stand.adapter.start(start_call())
    assert stand.cluster.jobs == []


async def test_a_newer_agents_field_is_passed_over_and_a_state_that_nobody_knows_is_no_evidence(stand: Stand) -> None:
    """R25: the scheduler's output changed shape between versions."""
    ref = ObjectRef(cluster="sim", id="88213", created="0" * 26)
    found = Found(as_of=datetime.now(UTC), sightings=(Sighting(object=ref, run=0, phase=Phase.RUNNING),))
    told = wire.encode(wire.FoundReply(found=found))
    said = b""

    async def answer(message: Msg) -> None:
        await message.respond(said)

    await stand.near.subscribe(subjects.agents("sim"), cb=answer)
    await stand.near.flush()
    said = told.replace(b'"phase":"running"', b'"phase":"running","mood":"fine"')
    assert await stand.adapter.find(NAME) == found
    said = told.replace(b'"phase":"running"', b'"phase":"hibernating"')
    with pytest.raises(UnreachableError, match="cannot be read: Invalid enum value 'hibernating'"):
        await stand.adapter.find(NAME)


async def test_a_call_that_is_not_answered_in_time_may_land_and_is_unknown(stand: Stand) -> None:
    await stand.agent().start()
    stand.door.open.clear()
    with pytest.raises(OutcomeUnknownError, match="gave no answer in time"):
        await stand.adapter.start(start_call())
    assert stand.cluster.jobs == []
    stand.door.open.set()
    while not (await stand.adapter.find(NAME)).sightings:
        await asyncio.sleep(0)
    assert len(stand.cluster.jobs) == 1


@pytest.mark.parametrize(
    "error",
    [
        RefusedError("the partition is closed"),
        DeadlinePassedError("2 s late"),
        UnreachableError("the controller is down"),
        PodsRemainError("pod x is terminating"),
        OutcomeUnknownError("timed out"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_keeps_its_class_and_its_sentence_over_the_bus(stand: Stand, error: AdapterError) -> None:
    await stand.agent().start()
    stand.door.fails = error
    with pytest.raises(type(error), match=str(error)) as raised:
        await stand.adapter.start(start_call())
    assert type(raised.value) is type(error)


async def test_what_nobody_foresaw_is_unknown_and_tells_no_secret(stand: Stand) -> None:
    await stand.agent().start()
    stand.door.fails = RuntimeError("password=hunter2")
    with pytest.raises(OutcomeUnknownError) as raised:
        await stand.adapter.start(start_call())
    assert "hunter2" not in str(raised.value)


async def test_the_agents_host_refuses_a_call_past_its_deadline(stand: Stand) -> None:
    await stand.agent().start()
    with pytest.raises(DeadlinePassedError):
        await stand.adapter.start(start_call(within_s=-0.5))
    assert stand.cluster.jobs == []


async def test_a_call_that_waited_for_its_turn_past_its_deadline_is_refused(stand: Stand) -> None:
    await stand.agent(max_calls=1).start()
    stand.door.open.clear()
    first = asyncio.create_task(stand.adapter.start(start_call(1)))
    while not stand.door.on_it:
        await asyncio.sleep(0)
    late = asyncio.create_task(stand.adapter.start(start_call(2, within_s=0.2)))
    await asyncio.sleep(0.3)  # waits: the deadline itself is under test
    stand.door.open.set()
    await first
    with pytest.raises(DeadlinePassedError):
        await late
    assert len(stand.cluster.jobs) == 1


async def test_calls_are_bounded_and_a_find_does_not_wait_for_them(stand: Stand) -> None:
    await stand.agent(max_calls=2).start()
    stand.door.open.clear()
    calls = [asyncio.create_task(stand.adapter.start(start_call(attempt))) for attempt in range(1, 7)]
    while stand.door.on_it < 2:
        await asyncio.sleep(0)
    assert (await stand.adapter.find(NAME)).sightings == ()
    stand.door.open.set()
    await asyncio.gather(*calls)
    assert stand.door.at_most == 2
    assert len((await stand.adapter.find(NAME)).sightings) == 6


async def test_a_request_on_another_requests_subject_is_refused_since_rights_go_by_subject(stand: Stand) -> None:
    await stand.agent().start()
    ref = await stand.adapter.start(start_call())
    call = start_call(2)
    stop = StopCall(name=NAME, call=2, deadline_at=call.deadline_at, pair=call.pair, object=ref)
    message = await stand.far.request(subjects.agent("sim", "inspect"), wire.encode(stop), timeout=2)
    reply = wire.decode_reply(message.data)
    assert isinstance(reply, wire.Failed)
    assert reply.sentence == "a stop may not be asked for on dispatch.agent.sim.inspect"
    [sighting] = (await stand.adapter.find(NAME)).sightings
    assert sighting.phase is Phase.GATED


async def test_bytes_that_are_no_request_are_refused(stand: Stand) -> None:
    await stand.agent().start()
    message = await stand.far.request(subjects.agent("sim", "find"), b"\xff\x00", timeout=2)
    assert isinstance(wire.decode_reply(message.data), wire.Failed)


async def test_the_newest_pair_is_kept_for_an_adapter_that_keeps_none_and_outlives_the_agent(stand: Stand) -> None:
    agent = stand.agent()
    await agent.start()
    await stand.adapter.start(start_call(2))
    with pytest.raises(DeadlinePassedError):
        await stand.adapter.start(start_call(3, within_s=-1.0))
    await stand.adapter.start(start_call(1))
    await agent.drain(1.0)
    await stand.agent().start()
    assert (await stand.adapter.find(NAME)).floor == start_call(3).pair


async def test_draining_finishes_what_is_in_hand_and_leaves_the_rest_to_another_agent(stand: Stand) -> None:
    agent = stand.agent()
    await agent.start()
    stand.door.open.clear()
    in_hand = asyncio.create_task(stand.adapter.start(start_call(1)))
    while not stand.door.on_it:
        await asyncio.sleep(0)
    draining = asyncio.create_task(agent.drain(5.0))
    await stand.agent().start()
    assert (await stand.adapter.find(NAME)).sightings == ()
    stand.door.open.set()
    await draining
    await in_hand
    assert len((await stand.adapter.find(NAME)).sightings) == 1


async def test_draining_is_bounded_and_what_it_cut_off_is_unknown(stand: Stand) -> None:
    agent = stand.agent()
    await agent.start()
    stand.door.open.clear()
    call = asyncio.create_task(stand.adapter.start(start_call(1)))
    while not stand.door.on_it:
        await asyncio.sleep(0)
    await agent.drain(0.05)
    with pytest.raises(OutcomeUnknownError):
        await call


async def test_the_largest_spec_passes_over_the_bus(stand: Stand) -> None:
    await stand.agent().start()
    env = {f"NAME_{number}": "x" * 1000 for number in range(250)}
    call = start_call(env=env)
    assert 240_000 < len(msgspec.json.encode(call.spec)) < SPEC_BYTES_MAX
    assert (await stand.adapter.start(call)).cluster == "sim"


async def test_a_watch_becomes_wake_ups_and_nobody_else_needs_to_watch(stand: Stand) -> None:
    bus = MemoryBus()
    floors = FloorStore(stand.folder / "floors")
    watched = SlurmAdapter(stand.cluster, pause=lambda: asyncio.sleep(stand.step_s))
    agent = Agent(stand.near, watched, "sim", floors=floors)
    await agent.start(wakeups=bus.wakeups)
    await stand.adapter.start(start_call())
    shard = subjects.shard_of(NAME.tenant, NAME.job, bus.shards)
    woken = None
    while woken is None:
        woken = await bus.wakeups.receive(shard, rank=0)
    assert (woken.tenant, woken.job) == ("nlp", "llama")
    assert not (await stand.adapter.capabilities()).watch
    await agent.drain(1.0)
    await bus.close()


async def test_an_agent_goes_on_after_the_server_was_restarted(stand: Stand) -> None:
    await stand.agent().start()
    await stand.adapter.start(start_call())
    await stand.node.restart()

    async def found() -> int | None:
        try:
            return len((await stand.adapter.find(NAME)).sightings)
        except UnreachableError:
            return None

    until = asyncio.get_running_loop().time() + 20
    while (count := await found()) is None:
        assert asyncio.get_running_loop().time() < until
        await asyncio.sleep(0)
    assert count == 1


async def test_a_cluster_that_is_gone_is_answered_for_by_a_persons_word(stand: Stand) -> None:
    gone = GoneAdapter("sim", attested_by="ana", reason="sold in May", now=lambda: datetime.now(UTC))
    await Agent(stand.near, gone, "sim", floors=FloorStore(stand.folder / "floors")).start()
    ref = ObjectRef(cluster="sim", id="7", created="0" * 26)
    assert (await stand.adapter.find(NAME)).sightings == ()
    word = await stand.adapter.ceased(NAME, ref, 3)
    assert (word.answer, word.basis, word.attested_by) == (CessationAnswer.CEASED, CessationBasis.OPERATOR, "ana")
    assert word.nodes == ()
    with pytest.raises(RefusedError, match=r"cluster sim is gone, says ana \(sold in May\)"):
        await stand.adapter.start(start_call())
    able = await stand.adapter.capabilities()
    assert (able.read_only, able.takes_stops) == (True, True)
    pair = Floor(revision=5, nonce="0" * 26)
    deadline_at = datetime.now(UTC) + timedelta(seconds=30)
    await stand.adapter.stop_job(StopJobCall(name=NAME, call=9, deadline_at=deadline_at, pair=pair))


async def test_a_call_kept_back_by_a_frozen_agent_is_refused_when_it_goes_on(stand: Stand) -> None:
    world = LocalWorld(stand.folder / "local")
    argv = (sys.executable, "-c", AGENT, str(Path(__file__).parents[3]), stand.node.url, str(stand.folder / "local"))
    agent = await asyncio.create_subprocess_exec(*argv)
    try:
        ready = stand.folder / "local" / "ready"
        while not os.path.exists(ready):  # noqa: PTH110 - a look, in no hurry
            await asyncio.sleep(world.step_s)
        world.adapter = RemoteAdapter(stand.far, world.cluster, call_within_s=0.6)  # type: ignore[assignment]
        job = job_of(world)
        ref = await job.start()
        call = await job.open_call(ref, within_s=0.3)
        os.kill(agent.pid, signal.SIGSTOP)
        with pytest.raises(OutcomeUnknownError):
            await world.adapter.open(call)
        os.kill(agent.pid, signal.SIGCONT)

        async def over() -> bool | None:
            return True if (await job.find()).as_of > call.deadline_at + timedelta(seconds=0.5) else None

        await eventually(world, over, "the deadline is past")
        assert (await job.see(ref)).phase is Phase.GATED
        assert await job.executions() == []
    finally:
        agent.kill()
        await agent.wait()
        await world.close()
