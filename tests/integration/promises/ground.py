"""Real JetStream, real processes, replicas in this process that can be started and stopped, a client; and an adapter
whose calls and answers can be lost, held back or hidden on their way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import psutil
from msgspec.structs import replace

from adapters.errors import OutcomeUnknownError
from adapters.local.adapter import LocalAdapter
from adapters.port import Adapter
from dispatch.client import AsyncClient
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from projections.evolve import empty, fold
from projections.record import Record
from projections.verify import verify
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.layout import Layout
from streams.jetstream.settings import BusSettings
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from streams.messages.calls import Capabilities, JobName, OpenCall, StartCall
from streams.messages.commands import SubmitJob
from streams.messages.events import Entry, Envelope
from streams.messages.plan import RecoveryPlan
from streams.messages.spec import JobSpec, Run, Unmatched
from streams.messages.values import Found, ObjectRef, Phase
from tests.integration.kills import marks
from tests.servers.nats import NatsNode, one_node

TENANT = "nlp"
INSTALLATION = "promises"
WITHIN_S = 60.0


class Way(LocalAdapter):
    """The local adapter behind a way that can lose answers, lose calls, hold calls back and hide objects."""

    lose_start_answers: int = 0
    lose_starts: bool = False
    hide_until_starts: int = 0
    starts: int = 0
    hold_start: asyncio.Event | None = None
    hold_open: asyncio.Event | None = None
    held_back: int = 0
    start_deadline_s: float = 2.0

    async def capabilities(self) -> Capabilities:
        able = await super().capabilities()
        return replace(able, start_deadline_s=self.start_deadline_s, call_deadline_s=5.0, call_bound_s=2.0)

    async def find(self, name: JobName) -> Found:
        found = await super().find(name)
        return replace(found, sightings=()) if self.starts < self.hide_until_starts else found

    async def start(self, call: StartCall) -> ObjectRef:
        self.starts += 1
        if self.lose_starts:
            raise OutcomeUnknownError("no answer, and nothing was made")
        if self.hold_start is not None:
            self.held_back += 1
            await self.hold_start.wait()
        made = await super().start(call)
        if self.lose_start_answers > 0:
            self.lose_start_answers -= 1
            raise OutcomeUnknownError("the answer was lost")
        return made

    async def open(self, call: OpenCall) -> None:
        if self.hold_open is not None:
            self.held_back += 1
            await self.hold_open.wait()
        await super().open(call)


class Ground:
    """One bus, one local cluster, and what tests ask of them."""

    def __init__(self, directory: Path, node: NatsNode, settings: BusSettings, bus: JetStreamBus) -> None:
        self.directory = directory
        self.node = node
        self.settings = settings
        self.bus = bus
        self.marks = directory / "marks"
        self.marks.mkdir()
        self.client = AsyncClient(bus, tenant=TENANT, actor="ana", timeout_s=15.0)

    def adapter(self) -> Way:
        return Way(self.directory / "local", slots=8)

    @contextlib.asynccontextmanager
    async def replica(self, name: str, adapter: Adapter) -> AsyncIterator[Replica]:
        """A replica at work for as long as the block lasts; it drains at the end."""
        bus = await connect(self.settings)
        made = ReplicaSettings(
            name=name, installation=INSTALLATION, lease_s=1.0, heartbeat_s=0.5, sweep_s=3600.0, drain_s=5.0
        )
        replica = Replica(bus, Clusters({"local": adapter}, None), made)
        running = asyncio.create_task(replica.run())
        try:
            yield replica
        finally:
            replica.stop()
            await running
            await bus.close()

    def spec(self, body: str = "sleep 0.2", *, unmatched: Unmatched = Unmatched.GIVE_UP) -> JobSpec:
        return JobSpec(
            cluster="local",
            run=Run(script=marks.script(body)),
            stop_grace=2,
            env={"MARKS": str(self.marks)},
            unmatched=unmatched,
        )

    def submit(self, job: str) -> SubmitJob:
        """The command that submits a short job that never runs again."""
        at = datetime.now(UTC)
        return SubmitJob(command=f"s-{job}", tenant=TENANT, job=job, at=at, spec=self.spec(":"), plan=RecoveryPlan())

    async def history(self, job: str) -> list[Entry]:
        return list(await self.bus.history.read(TENANT, job))

    async def until(self, job: str, so: Callable[[Record], bool]) -> Record:
        """The job's record once it is so."""
        record = empty(TENANT, job)
        async with asyncio.timeout(WITHIN_S):
            while True:
                record = fold(record, await self.bus.history.read(TENANT, job, after=record.revision))
                if so(record):
                    return record
                await asyncio.sleep(0.05)  # waits: replicas at work

    async def settled(self, job: str) -> Record:
        return await self.until(job, lambda record: record.settled)

    def lose_power(self) -> None:
        """Every process of the local cluster is killed at once: its host, its runners, its ranks."""
        for process in psutil.process_iter(["cmdline"]):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(str(self.directory / "local") in word for word in process.info["cmdline"] or ()):
                    process.kill()
        marks.end_all(self.marks)

    def ran(self, job: str, *, lost: bool = False) -> list[int]:
        """Epochs that ran, by the processes' own marks; `lost`: some were killed and could mark no end."""
        own = marks.read(self.marks, job)
        assert lost or marks.overlap(own) is None
        return marks.executions(own)

    async def holds(self, job: str) -> None:
        """No law is broken in the job's history, and nothing of it is alive."""
        verdict = verify(await self.history(job))
        assert not verdict.broken, verdict.broken
        assert marks.alive(self.marks, job) == []


def running(record: Record) -> bool:
    """Whether the canonical object was last seen running."""
    held = record.canonical()
    return held is not None and held.phase is Phase.RUNNING


def names(entries: list[Entry]) -> list[str]:
    """The types of the events, in order."""
    return [type(e.content.event).__name__ for e in entries if isinstance(e.content, Envelope)]


@contextlib.asynccontextmanager
async def ground(directory: Path) -> AsyncIterator[Ground]:
    async with one_node(directory / "bus") as node:
        settings = BusSettings(urls=(node.url,), monitoring_urls=(node.monitoring_url,))
        wire = Wire(settings)
        await wire.connect()
        await setup(wire, Layout(installation=INSTALLATION, replicas=1, shards=4, lease_s=1.0))
        await wire.close()
        bus = await connect(settings)
        try:
            yield Ground(directory, node, settings, bus)
        finally:
            marks.end_all(directory / "marks")
            await bus.close()
