"""One supervisor process in the simulated world: the real pass and the real calls, driven by hand.

It can die at any await and start again with nothing. Its coroutines are never run by an event loop: each is sent an
answer, or an error, when the world says so.
"""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from adapters.port import Adapter
from adapters.simulated.adapter import KubeflowAdapter, SlurmAdapter
from adapters.simulated.host import Request
from adapters.simulated.slurm import SlurmCluster
from dispatch.act import Hands
from dispatch.replica.braking import Braking
from dispatch.replica.commands import handle, read_controls
from dispatch.supervisor import run_pass
from projections.controls import Controls
from projections.evolve import empty
from projections.receipt import Written, receipts_of
from projections.record import Record
from streams.errors import BusUnreachableError
from streams.messages.events import Entry, Envelope, ObjectsSeen, SeenEvent
from streams.messages.receipts import Receipt
from streams.messages.values import Cause, CauseKind, Found, ObjectRef, Phase, Sighting
from tests.simulator.flight import AppendFlight, CallFlight, Flight, ReadFlight, TellFlight
from tests.simulator.ledger import JOB, TENANT

if TYPE_CHECKING:
    from tests.simulator.operators import Waiting
    from tests.simulator.world import World

T = TypeVar("T")
INSTALLATION = "lab"
BURST = 12


class Task:
    """One coroutine of a process and the flight it waits for.

    `failed`: it ended with an error of the bus. `unseen`: evidence of it that met a conflict and is not stored.
    `read_at`: the step at which its last read of the job landed. `found`: its last Find, and
    `found_at` the step at which that landed. `listed_at`: when it listed pods. `known`: the newest revision that it was told of.
    """

    __slots__ = (
        "command",
        "coroutine",
        "failed",
        "flight",
        "found",
        "found_at",
        "known",
        "listed_at",
        "process",
        "read_at",
        "unseen",
        "what",
    )

    def __init__(self, process: Process, what: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.process = process
        self.what = what
        self.coroutine = coroutine
        self.flight: Flight | None = None
        self.command: Waiting | None = None
        self.failed = False
        self.unseen: SeenEvent | None = None
        self.read_at = 0
        self.known = process.held.revision
        self.found: Found | None = None
        self.found_at = 0
        self.listed_at: datetime | None = None


class SimulatedHistory:
    """`streams.ports.History` as one process sees it; `follow` and `stored` are the replica's, not the pass's."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        entries: tuple[Entry, ...] = await ReadFlight(self._process.world, self._process, job, after)
        return entries

    async def last_revision(self, tenant: str, job: str) -> int:
        if self._process.world.store_is_down:
            raise BusUnreachableError("the store does not answer")
        entries = self._process.world.ledger.read(job, 0, self._process.generation)
        return entries[-1].revision if entries else 0

    async def append(self, envelope: Envelope) -> int:
        revision: int = await AppendFlight(self._process.world, self._process, envelope)
        return revision


class SimulatedWay:
    """The channel of one process to the scheduler's host."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def carry(self, request: Request[T]) -> T:
        answer: T = await CallFlight(self._process.world, self._process, request)
        return answer


class SimulatedBuckets:
    """The receipts' bucket; the other buckets are the replica's."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def put_receipt(self, receipt: Receipt) -> None:
        await TellFlight(self._process.world, self._process, "receipt")
        self._process.world.receipts[receipt.command] = receipt


class SimulatedDelivery:
    """One command in hand; what is not acknowledged comes back."""

    def __init__(self, process: Process, waiting: Waiting) -> None:
        self._process = process
        self._waiting = waiting
        self.subject = waiting.subject
        self.data = waiting.data
        self.sequence = waiting.sequence

    async def ack(self) -> None:
        await TellFlight(self._process.world, self._process, "ack")
        self._process.world.operators.done(self._waiting)

    async def in_progress(self) -> None:
        return


class Process:
    """`generation` is the history's it was started on; `life` counts its starts over all processes."""

    def __init__(self, world: World, number: int, drift: float) -> None:
        self.world = world
        self.number = number
        self.skew = timedelta(0)
        self.drift = drift
        self.tasks: list[Task] = []
        self.begin()

    def begin(self) -> None:
        """Start with nothing."""
        world = self.world
        world.lives += 1
        self.life = world.lives
        self.generation = world.ledger.generation
        self.held: Record = empty(TENANT, JOB)
        self.controls = Controls()
        self.passing = False
        cluster, way = world.cluster, SimulatedWay(self)
        self.adapter: Adapter = (
            SlurmAdapter(cluster, way) if isinstance(cluster, SlurmCluster) else KubeflowAdapter(cluster, way)
        )
        self.buckets = SimulatedBuckets(self)
        self.hands = Hands(
            history=SimulatedHistory(self),  # type: ignore[arg-type]  # what a pass needs of a history
            adapter_of=self._adapter_of,
            clock=self.clock,
            new_id=world.new_id,
            by=f"replica:r{self.number}-{self.life}",
            installation=INSTALLATION,
            spawn=self._spawn,
            wake=self._wake,
            publish=self._publish,
        )

    def clock(self) -> datetime:
        now = self.world.now + self.skew
        return now + self.drift * self.world.elapsed if self.drift else now

    def _adapter_of(self, cluster: str) -> Adapter | None:
        return self.adapter if cluster == self.world.cluster.name else None

    async def _wake(self, tenant: str, job: str) -> None:
        await TellFlight(self.world, self, "wake")
        self.world.woken = True

    async def _wake_at(self, tenant: str, job: str, at: datetime) -> None:
        await TellFlight(self.world, self, "timer")
        self.world.timed(at)

    async def _publish(self, record: Record) -> None:
        for receipt in receipts_of(record, Written(self.clock(), self.hands.by)):
            await self.buckets.put_receipt(receipt)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.world.start(Task(self, "call", coroutine))

    def wake(self) -> None:
        """Begin a pass, unless one is on."""
        if not self.passing:
            self.passing = True
            self.world.start(Task(self, "pass", self._pass()))

    async def _pass(self) -> None:
        self.controls = await read_controls(self.hands, TENANT, self.controls)
        ended = await run_pass(self.hands, self.held, self.controls)
        self.held = ended.record
        self.world.passed(self, ended)

    def receive(self, waiting: Waiting) -> None:
        """Take one command in hand."""
        delivery = SimulatedDelivery(self, waiting)
        task = Task(self, "command", handle(self.hands, self.buckets, delivery, self._wake_at))  # type: ignore[arg-type]  # what a command needs of buckets
        task.command = waiting
        waiting.in_hand = True
        self.world.start(task)

    def notice_a_burst(self) -> None:
        """See a dozen other jobs of this cluster lose their node at once: the brake is pulled."""
        self.world.start(Task(self, "brake", self._burst()))

    async def _burst(self) -> None:
        braking = Braking(self.hands, lambda _: True)
        now = self.clock()
        for number in range(BURST):
            ref = ObjectRef(cluster=self.world.cluster.name, id=f"other-{number}", created=f"other-{number}")
            lost = Sighting(object=ref, phase=Phase.ENDED, cause=Cause(kind=CauseKind.NODE_LOST))
            for event in (
                ObjectsSeen(as_of=now, read_revision=0, sightings=(replace(lost, phase=Phase.RUNNING, cause=None),)),
                ObjectsSeen(as_of=now, read_revision=0, sightings=(lost,)),
            ):
                told = Envelope(
                    id=f"{number:026d}", tenant=TENANT, job=f"other-{number}", expected=0, at=now, by="r", event=event
                )
                entry = Entry(tenant=TENANT, job=told.job, revision=1, stored_at=now, content=told)
                await braking.seen(entry)

    def crash(self) -> list[Flight]:
        """Die now; what was sent goes on without it."""
        orphans = [task.flight for task in self.tasks if task.flight is not None and task.flight.goes_on]
        for task in self.tasks:
            task.coroutine.close()
            if task.command is not None:
                task.command.in_hand = False
        self.tasks.clear()
        self.begin()
        return orphans
